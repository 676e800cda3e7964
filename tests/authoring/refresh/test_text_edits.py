"""Files that are not Python: what becomes of the substitutions in them, and of others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import tomllib

from language.overlays import load, write
from language.pairs import source_tree
from npu_overlays.authoring.refresh.edited_files import EditedFile
from npu_overlays.authoring.refresh.layer_writer import LayerWriter
from npu_overlays.authoring.refresh.placement import staged
from npu_overlays.authoring.refresh.planner import Planner
from npu_overlays.checks.patched_tree import apply_overlay
from npu_overlays.errors import MergeError
from npu_overlays.merge.apply import apply_part
from npu_overlays.overlay.content import load_content
from npu_overlays.overlay.operations import Grounds, Reason
from npu_overlays.pipeline.preparation import AppliedInput

A, B = "pkg/a.yaml", "pkg/b.yaml"
UPSTREAM = b"a: 1\nmid: 0\nb: 1\n"
TWO = (("a: 1", "a: 2"), ("b: 1", "b: 2"))


def substitution(paths: Sequence[str], find: str, put_in: str, count: int = 1) -> str:
    said = {"paths": list(paths), "find": find, "replace": put_in, "count": count, "why": "w"}
    return "\n[[tool.overlay.edit]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in said.items())


def refreshed(
    root: Path, config: str, upstream: Mapping[str, bytes], wanted: Mapping[str, bytes]
) -> list[tuple[list[str], str, str]]:
    """Return the paths, finds and replacements that an overlay has then, having seen that it gives what is wanted."""
    content = load(root, write(root, {}, config=config))
    subject = AppliedInput(content=content, tree=source_tree(upstream), absent=frozenset(), version="1.0")
    marked = apply_part(content, subject.tree, absent=frozenset())
    plan = Planner(subject, marked).plan(tuple(EditedFile(path=path, content=text) for path, text in wanted.items()))
    writer = LayerWriter(subject, content.overlay.chain[-1], lambda *_: Grounds(reason=Reason(why="new")))
    files = writer.write(plan, apply_part(replace(content, edits=()), subject.tree, absent=frozenset()))
    with staged(content.overlay, files) as overlay:
        tree = apply_overlay(load_content(overlay, "1.0"), subject.tree, absent=frozenset()).tree
    assert {path: tree.after(path) for path in wanted} == wanted
    settings = next((one.content for one in files if one.path == "pyproject.toml"), None) or b"[tool.overlay]"
    listed = tomllib.loads(settings.decode())["tool"]["overlay"].get("edit", [])
    return [(one["paths"], one["find"], one["replace"]) for one in listed]


@pytest.mark.parametrize(
    ("edits", "now", "wanted", "expected"),
    [
        (TWO, UPSTREAM, b"a: 3\nmid: 0\nb: 4\n", [("a: 1", "a: 3"), ("b: 1", "b: 4")]),
        (TWO, UPSTREAM, b"a: 1\nmid: 0\nb: 4\n", [("b: 1", "b: 4")]),
        (TWO, UPSTREAM, UPSTREAM, []),
        (TWO, UPSTREAM, b"a: 3\nmid: 1\nb: 2\n", [("a: 1", "a: 3"), TWO[1], ("mid: 0\n", "mid: 1\n")]),
        (TWO, b"a: 1\nb: 1\n", b"a: 3\nb: 4\n", [("a: 1", "a: 3"), ("b: 1", "b: 4")]),
        (TWO, b"a: 1\nb: 1\n", b"a: 3\nx: 1\nb: 2\n", [("a: 1", "a: 3\nx: 1"), TWO[1]]),
        (TWO, b"{a: 1, b: 1}\n", b"{a: 33, b: 4}\n", [("a: 1", "a: 33"), ("b: 1", "b: 4")]),
        (
            (("a: 1", "a: 2"), ("a: 2", "a: 2 # two")),
            UPSTREAM,
            b"a: 5 # five\nmid: 0\nb: 1\n",
            [("a: 1", "a: 2"), ("a: 2", "a: 5 # five")],
        ),
        ((("a: 1", "a: 20"), ("20", "21")), UPSTREAM, b"c: 21\nmid: 0\nb: 1\n", [("a: 1", "c: 20"), ("20", "21")]),
        ((("- a", "- v"), ("- b", "- v")), b"- a\n- m\n- b\n", b"- x\n- m\n- y\n", [("- a", "- x"), ("- b", "- y")]),
    ],
)
def test_each_substitution_of_a_file_is_changed_where_it_stands(
    tmp_path: Path, edits: Sequence[tuple[str, str]], now: bytes, wanted: bytes, expected: list[tuple[str, str]]
) -> None:
    """One, several at once, next to each other, on one line, one in what another puts in, and beside upstream's."""
    config = "".join(substitution([A], *one) for one in edits)
    assert refreshed(tmp_path, config, {A: now}, {A: wanted}) == [([A], *one) for one in expected]


def test_a_substitution_that_is_made_several_times_is_changed_where_all_of_it_is(tmp_path: Path) -> None:
    config, now = substitution([A], "v: 1", "v: 2", 2), {A: b"x:\n  v: 1\ny:\n  v: 1\n"}
    assert refreshed(tmp_path / "all", config, now, {A: b"x:\n  v: 3\ny:\n  v: 3\n"}) == [([A], "v: 1", "v: 3")]
    one = refreshed(tmp_path / "one", config, now, {A: b"x:\n  v: 3\ny:\n  v: 2\n"})
    assert one == [([A], "v: 1", "v: 2"), ([A], "x:\n  v: 2\n", "x:\n  v: 3\n")]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ((b"a: 3\n", b"a: 3\n"), [([A, B], "a: 1", "a: 3")]),
        ((b"a: 3\n", b"a: 4\n"), [([B], "a: 1", "a: 4"), ([A], "a: 1", "a: 3")]),
        ((b"a: 1\n", b"a: 4\n"), [([B], "a: 1", "a: 4")]),
        ((b"a: 1\n", b"a: 1\n"), []),
    ],
)
def test_a_substitution_for_several_files_stays_one_where_all_change_alike(
    tmp_path: Path, wanted: tuple[bytes, bytes], expected: list[tuple[list[str], str, str]]
) -> None:
    config, upstream = substitution([A, B], "a: 1", "a: 2"), dict.fromkeys((A, B), b"a: 1\n")
    assert refreshed(tmp_path, config, upstream, dict(zip((A, B), wanted, strict=True))) == expected


def test_what_cannot_be_told_apart_is_refused_by_name(tmp_path: Path) -> None:
    config = substitution([A], "b", "B") + substitution([A], "c", "C")
    with pytest.raises(
        MergeError, match=r"cannot be told.*\n.*fix: edit \S*pyproject.toml:14: .*edit \(pkg/a.yaml\)"
    ) as refused:
        refreshed(tmp_path, config, {A: b"abcd"}, {A: b"\xff\xff"})
    assert "nor a patch below" in str(refused.value)
