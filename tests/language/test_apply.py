"""A whole overlay on a whole upstream: added files, substitutions, merges, and everything used exactly once."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_overlays.errors import MergeError
from npu_overlays.merge.results import NotApplied

from .overlays import apply, apply_files, load, mistakes, write

UPSTREAM = {"pkg/a.py": b"def f(): return 1\n", "pkg/conf/b.yaml": b"x: 1\nx: 1\n", "other/c.py": b""}


def _edit(find: str, replace: str, count: int = 1, path: str = "pkg/conf/b.yaml") -> str:
    return (
        f'[[tool.overlay.edit]]\npaths = ["{path}"]\nfind = "{find}"\nreplace = "{replace}"\n'
        f'count = {count}\nwhy = "because"\n'
    )


def test_nothing_to_do_changes_nothing(tmp_path: Path) -> None:
    applied = apply_files(tmp_path, UPSTREAM, {})
    assert applied.tree.changed == {}
    assert not applied.declared
    assert not applied.not_applied


def test_files_are_added_as_they_are_with_their_first_line_as_the_reason(tmp_path: Path) -> None:
    name = write(
        tmp_path / "o",
        {"tree/pkg/new.py": b'\xef\xbb\xbf"""New."""\r\nx = 1', "tree/pkg/run.sh": b"#!/bin/sh\n# Go.\n"},
    )
    (tmp_path / "o" / name / "tree/pkg/run.sh").chmod(0o755)
    applied = apply(UPSTREAM, load(tmp_path / "o", name))
    assert applied.tree.after("pkg/new.py") == b'\xef\xbb\xbf"""New."""\r\nx = 1'
    assert applied.tree.is_executable("pkg/run.sh")
    assert not applied.tree.is_executable("pkg/new.py")
    assert [(one.symbol, one.operation, one.path) for one in applied.declared] == [
        ("", "file", "pkg/new.py"),
        ("", "file", "pkg/run.sh"),
    ]
    assert applied.declared[1].reason.why == "Go."


def test_substitutions_are_counted(tmp_path: Path) -> None:
    applied = apply_files(tmp_path, UPSTREAM, {}, config=_edit("x: 1", "x: 2", 2))
    assert applied.tree.after("pkg/conf/b.yaml") == b"x: 2\nx: 2\n"
    with pytest.raises(MergeError) as caught:
        apply_files(tmp_path / "more", UPSTREAM, {}, config=_edit("x: 1", "x: 2", 3))
    fix = "shorten find until it occurs 3 times, or set count = 2"
    assert [(one.what, one.fix) for one in caught.value.problems] == [("`x: 1` occurs 2 times, expected 3", fix)]


def test_everything_that_does_not_fit_is_reported_at_once(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "tree/pkg/a.py": "@replaced(why='w')\ndef g(): pass\n",
        "tree/pkg/conf/b.yaml": b"",
        "tree/other/c.py": "@added(why='w')\ndef g(): pass\n",
        "tree/elsewhere/d.py": b"",
        "tree/pkg/conf/a.py": "@added(why='w')\ndef g(): pass\n",
        "patches/0.patch": b"nothing",
    }
    config = _edit("x: 1", "x: 2") + _edit("a", "b", path="pkg/b.yaml") + _edit("a", "b", path="README")
    with pytest.raises(MergeError) as caught:
        apply_files(tmp_path, UPSTREAM, files, config=config)
    outside = "changes what lies in none of tool.overlay.packages and is not shipped"
    ship = "take it out, or name its folder in tool.overlay.packages"
    edit = "pkg@1111111/pyproject.toml"
    assert mistakes(caught.value) == [
        "pkg@1111111/patches/0.patch: holds no `diff --git`; export it with git diff, or delete it",
        (
            f"{edit}:13: tool.overlay.edit (pkg/conf/b.yaml): `x: 1` occurs 2 times, expected 1; lengthen"
            f" find until it occurs 1 time, or set count = 2"
        ),
        f"{edit}:19: tool.overlay.edit (pkg/b.yaml): upstream has no such file; did you mean `pkg/conf/b.yaml`?",
        f"{edit}:25: tool.overlay.edit (README): {outside}: README; {ship}",
        f"pkg@1111111/tree/elsewhere/d.py: {outside}: elsewhere/d.py; {ship}",
        "pkg@1111111/tree/pkg/conf/b.yaml: upstream already has pkg/conf/b.yaml; use [[tool.overlay.edit]] or a patch",
        f"pkg@1111111/tree/other/c.py:3: {outside}: other/c.py; {ship}",
        (
            "pkg@1111111/tree/pkg/a.py:3: pkg/a.py has no `g`; correct the name, or move this to the file of"
            " the module that has it"
        ),
        "pkg@1111111/tree/pkg/conf/a.py:3: upstream has no pkg/conf/a.py; did you mean `pkg/a.py`?",
    ]


def test_a_python_file_that_upstream_has_must_be_a_merge_module(tmp_path: Path) -> None:
    with pytest.raises(
        MergeError, match=r"upstream already has pkg/a.py\n.*mark what changes with npu_overlays.markers"
    ):
        apply_files(tmp_path, UPSTREAM, {"tree/pkg/a.py": b"def f(): return 2\n"})


def test_the_gate_sees_added_and_merged_modules(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "tree/pkg/a.py": "@replaced(why='w')\ndef f(): return undefined\n",
        "tree/pkg/new.py": b"x = also_undefined\n",
    }
    with pytest.raises(MergeError) as caught:
        apply_files(tmp_path, UPSTREAM, files)
    assert sorted(problem.what for problem in caught.value.problems) == [
        "`also_undefined` is not defined",
        "`undefined` is not defined in pkg/a.py",
    ]


def test_what_the_source_lacks_is_listed_as_not_applied(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "tree/pkg/gone.py": "@replaced(why='1')\ndef f(): pass\n@added(why='2')\ndef g(): pass\n",
        "patches/0.patch": b"Why: 3\n\ndiff --git a/pkg/a.py b/pkg/a.py\n--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -1 +1 @@\n"
        b"-def f(): return 1\n+def f(): return 2\ndiff --git a/pkg/lost.py b/pkg/lost.py\n--- a/pkg/lost.py\n"
        b"+++ b/pkg/lost.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n",
    }
    content = load(tmp_path / "o", write(tmp_path / "o", files, config=_edit("x", "y", path="pkg/gone.yaml")))
    applied = apply(UPSTREAM, content, absent=frozenset({"pkg/gone.py", "pkg/gone.yaml", "pkg/lost.py"}))
    assert applied.not_applied == (
        NotApplied(path="pkg/lost.py", symbol="", operation="patch", why="3"),
        NotApplied(path="pkg/gone.yaml", symbol="", operation="edit", why="because"),
        NotApplied(path="pkg/gone.py", symbol="f", operation="replaced", why="1"),
        NotApplied(path="pkg/gone.py", symbol="g", operation="added", why="2"),
    )
    assert set(applied.tree.changed) == {"pkg/a.py"}


def test_a_file_the_commit_has_cannot_be_added_even_where_the_archive_lacks_it(tmp_path: Path) -> None:
    content = load(tmp_path / "o", write(tmp_path / "o", {"tree/pkg/lost.py": b"x = 1\n"}))
    with pytest.raises(MergeError, match=r"upstream already has pkg/lost\.py"):
        apply(UPSTREAM, content, absent=frozenset({"pkg/lost.py"}))


def test_a_find_of_several_lines_has_upstreams_line_ends(tmp_path: Path) -> None:
    upstream = {"pkg/b.yaml": b"a: 1\r\nb: 2\r\n"}
    edit = '[[tool.overlay.edit]]\npaths = ["pkg/b.yaml"]\nfind = "a: 1\\nb"\nreplace = "a: 2\\nb"\nwhy = "w"\n'
    with pytest.raises(MergeError, match=r"write \\r\\n in find and replace"):
        apply_files(tmp_path, upstream, {}, config=edit)
    whole = edit.replace("\\nb", "\\r\\nb")
    assert apply_files(tmp_path / "whole", upstream, {}, config=whole).tree.after("pkg/b.yaml") == b"a: 2\r\nb: 2\r\n"
