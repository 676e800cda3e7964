"""Over whole trees edited at random, twice: an overlay of a layer and a pin that is refreshed gives what was edited."""

from __future__ import annotations

import dataclasses
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from npu_overlays.authoring.refresh.edited_files import EditedFile
from npu_overlays.authoring.refresh.equivalence import same_program
from npu_overlays.authoring.refresh.layer_writer import LayerWriter, layer_named
from npu_overlays.authoring.refresh.placement import LayerFile, put_in_place
from npu_overlays.authoring.refresh.planner import Planner
from npu_overlays.changes.reconciliation import declarations, reconcile
from npu_overlays.changes.tree_comparison import compare_trees
from npu_overlays.checks.patched_tree import apply_overlay
from npu_overlays.errors import MergeError
from npu_overlays.merge.apply import apply_part
from npu_overlays.merge.module_deletion import written_out
from npu_overlays.model.module import Module
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.content import load_content
from npu_overlays.overlay.operations import Grounds, Reason
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.sources.tree import FileEntry, PatchedTree, Source, SourceTree, blob_id

Files = Mapping[str, bytes]
UPSTREAM: Files = {
    "LICENSE": b"Free for all.\n",
    "pkg/__init__.py": b"from pkg.a import scale\n",
    "pkg/a.py": b'"""A."""\n\nimport os\n\nLIMIT = 1\n\n\ndef scale(value):\n    return value * 2\n\n\n'
    b"class Engine:\n    speed = 1\n\n    def start(self, times=1):\n        return times\n\n"
    b'    def stop(self):\n        return os.sep\n\n\ndef main():\n    print("a", scale(LIMIT))\n',
    "pkg/b.py": b"ONE = 1\n\n\ndef helper(x):\n    return x\n\n\n"
    b"def other(x):\n    if x:\n        return helper(x)\n    return ONE\n",
    "pkg/sub/__init__.py": b"",
    "pkg/sub/c.py": b"from pkg.b import helper\n\n\ndef use(x):\n    return helper(x)\n",
    "pkg/notes.txt": b"one\ntwo\nthree\nfour\nfive\n",
    "pkg/settings.yaml": b"limit: 1\npath: file://pkg\nname: demo\n",
}
LAYER: Files = {
    "layer.toml": b'project = "demo"\nsuffix = "acme"\npackages = ["pkg"]\n\n[[edit]]\npaths = ["pkg/settings.yaml"]\n'
    b'find = "file://pkg"\nreplace = "pkg://pkg"\nwhy = "Installed."\n',
    "tree/pkg/a.py": b"from npu_overlays.markers import added, edited, replaced, upstream, wrapped\n\n"
    b'LIMIT = replaced(64, why="More.")\n\n\n'
    b'@edited(("value * 2", "value * 3"), why="Three.")\ndef scale(value): ...\n\n\n'
    b'class Engine:\n    @wrapped(why="Told.")\n'
    b"    def start(self, times=1):\n        return 1 + upstream(self, times)\n\n"
    b'    @added(why="Which.")\n    def device(self):\n        return "npu"\n',
    "tree/pkg/own.py": b'"""Ours."""\n\nNAME = "npu"\n',
    "patches/notes.patch": b"From " + b"1" * 40 + b" Mon Sep 17 00:00:00 2001\nSubject: [PATCH 1/2] Six\n\n"
    b"diff --git a/pkg/notes.txt b/pkg/notes.txt\n--- a/pkg/notes.txt\n+++ b/pkg/notes.txt\n"
    b"@@ -3,3 +3,4 @@\n three\n four\n five\n+six\n-- \n2.39.5\n\n"
    b"From " + b"2" * 40 + b" Mon Sep 17 00:00:00 2001\nSubject: [PATCH 2/2] Uno\n\n"
    b"diff --git a/pkg/notes.txt b/pkg/notes.txt\n--- a/pkg/notes.txt\n+++ b/pkg/notes.txt\n"
    b"@@ -1,3 +1,3 @@\n-one\n+uno\n two\n three\n",
}
PIN: Files = {
    "pyproject.toml": b'[build-system]\nrequires = ["npu-overlays"]\nbuild-backend = "npu_overlays.backend"\n\n'
    b'[tool.overlay]\nproject = "demo"\n\n[[tool.overlay.upstream.archive]]\ndistribution = "demo"\nversion = "1.0"\n'
    b'file = "demo-1.0-py3-none-any.whl"\nsha256 = "' + b"0" * 64 + b'"\n',
    "tree/pkg/b.py": b"from npu_overlays.markers import upstream, wrapped\n\n\n"
    b'@wrapped(why="Twice.")\ndef helper(x):\n    return upstream(upstream(x))\n',
}
_LINES = ["NEW = 1", "def new(a):\n    return a", "import json", "class New:\n    x = 1", "print(1)", "# c", ""]
_WORDS = [
    ("return ", "return 0 or "),
    ("1", "22"),
    ("value", "(value)"),
    ("three", "3"),
    ("limit", "bound"),
    ("x", "x "),
]
_NEW = {
    "pkg/fresh.py": b"FRESH = 1\n",
    "pkg/sub/data.json": b"{}\n",
    "pkg/more/__init__.py": b"",
    "pkg/bin.dat": b"\0\xff",
}


@st.composite
def edited(draw: st.DrawFn, now: Files) -> Files:
    """Draw what a person could make of a tree: a few files edited, renamed, copied, deleted and put there."""
    files = dict(now)
    for _ in range(draw(st.integers(1, 4))):
        paths = sorted(path for path in files if path.startswith("pkg/"))
        if not paths:
            break
        path = draw(st.sampled_from(paths))
        kind = draw(st.sampled_from(["text"] * 6 + ["rename", "copy", "delete", "new", "part"]))
        event(kind)
        _EDITS[kind](draw, files, path)
    return files


def _text(draw: st.DrawFn, files: dict[str, bytes], path: str) -> None:
    lines = files[path].decode("utf-8", "surrogateescape").splitlines(keepends=True) or [""]
    at = draw(st.integers(0, len(lines) - 1))
    margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())].strip("\n")
    kind = draw(st.sampled_from(["put in", "take out", "exchange", "exchange", "exchange"]))
    if kind == "put in":
        lines.insert(at, f"{margin}{draw(st.sampled_from(_LINES))}\n".replace("\n", f"\n{margin}").rstrip(" "))
    elif kind == "take out":
        del lines[at : at + draw(st.integers(1, 2))]
    else:
        lines[at] = lines[at].replace(*draw(st.sampled_from(_WORDS)), 1)
    files[path] = "".join(lines).encode("utf-8", "surrogateescape")


def _rename(draw: st.DrawFn, files: dict[str, bytes], path: str) -> None:
    _copy(draw, files, path)
    del files[path]


def _copy(draw: st.DrawFn, files: dict[str, bytes], path: str) -> None:
    folder = draw(st.sampled_from(["pkg/", "pkg/sub/", "pkg/other/"]))
    files[f"{folder}moved_{path.rpartition('/')[2]}"] = files[path]


def _delete(draw: st.DrawFn, files: dict[str, bytes], path: str) -> None:
    assert draw
    del files[path]


def _put(draw: st.DrawFn, files: dict[str, bytes], path: str) -> None:
    assert path
    new = draw(st.sampled_from(sorted(_NEW)))
    files[new] = _NEW[new]


def _part(draw: st.DrawFn, files: dict[str, bytes], path: str) -> None:
    """Move a part of one file into another of its kind, or where there is none, to its end."""
    other = draw(st.sampled_from([one for one in files if one.rpartition(".")[2] == path.rpartition(".")[2]]))
    parts = files[path].split(b"\n\n\n")
    part = parts.pop(draw(st.integers(0, len(parts) - 1)))
    files[path] = b"\n\n\n".join(parts) or b"\n"
    files[other] = files[other].rstrip(b"\n") + b"\n\n\n" + part.strip(b"\n") + b"\n"


_EDITS: Mapping[str, Callable[[st.DrawFn, dict[str, bytes], str], None]] = {
    "text": _text,
    "rename": _rename,
    "copy": _copy,
    "delete": _delete,
    "new": _put,
    "part": _part,
}


def upstream() -> SourceTree:
    source = Source(kind="archive", repository="", commit="", archive="demo-1.0-py3-none-any.whl", sha256="0" * 64)
    entries = {path: FileEntry(blob=blob_id(content)) for path, content in sorted(UPSTREAM.items())}
    return SourceTree(entries=entries, content=UPSTREAM, source=source)


def put(root: Path, layer: Files) -> None:
    """Write an overlay that is made of a layer and the pin."""
    for folder, files in (("demo", layer), ("demo@1.0", PIN)):
        for path, content in files.items():
            (root / folder / path).parent.mkdir(parents=True, exist_ok=True)
            (root / folder / path).write_bytes(content)


def subject(root: Path) -> AppliedInput:
    """Return the overlay as it lies in a folder now."""
    tree = upstream()
    content = written_out(load_content(load_overlay(root / "demo@1.0"), "1.0"), tree)
    return AppliedInput(content=content, tree=tree, absent=frozenset(), version="1.0")


def given_by(root: Path) -> PatchedTree:
    """Return what the overlay in a folder gives; raises `MergeError` where a build would refuse it."""
    one = subject(root)
    applied = apply_overlay(one.content, one.tree)
    reconcile(applied.tree, compare_trees(applied.tree), declarations(applied), overlay="demo@1.0")
    return applied.tree


def contents(tree: PatchedTree) -> dict[str, bytes]:
    return {path: tree.after(path) or b"" for path in tree.paths()}


def refreshed(root: Path, wanted: Files) -> tuple[LayerFile, ...]:
    """Write into the overlay what gives a tree; raises `MergeError` where that is refused, and writes nothing then."""
    one = subject(root)
    marked = apply_part(one.content, one.tree)
    now = contents(marked)
    paths = sorted(path for path in {*now, *wanted} if now.get(path) != wanted.get(path))
    plan = Planner(one, marked).plan(tuple(EditedFile(path=path, content=wanted.get(path)) for path in paths))
    patches = dataclasses.replace(one.content, operations=(), edits=(), files=())
    said = Grounds(reason=Reason(why="w"))
    files = LayerWriter(one, layer_named(one, ""), lambda *_: said).write(plan, apply_part(patches, one.tree))
    put_in_place(files, state="")
    return files


def same(path: str, one: bytes, other: bytes) -> bool:
    """Return whether two contents of a file are the same, of a module of upstream's the same program."""
    if one == other:
        return True
    if not path.endswith(".py") or path not in UPSTREAM:
        return False
    return same_program(one, other, Module(path, UPSTREAM[path]).definitions.keys())


@pytest.mark.thorough
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.data())
def test_a_tree_that_was_edited_twice_comes_of_the_overlay_or_is_refused(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        put(root, LAYER)
        now, refusals = contents(given_by(root)), list[MergeError]()
        for _ in range(2):
            wanted = data.draw(edited(now))
            shared = {path for path in (root / "demo").rglob("*") if path.is_file()}
            try:
                written = refreshed(root, wanted)
                tree = given_by(root)
            except MergeError as error:
                event("refused")
                refusals.append(error)
                break
            event("given")
            now = contents(tree)
            assert now.keys() == wanted.keys()
            assert [path for path in wanted if not same(path, now[path], wanted[path])] == []
            # What is new goes into the pin: a layer serves others too. What one has stays there under another name.
            layers = [one for one in written if one.layer.name == "demo"]
            gone = [one for one in layers if one.content is None]
            assert len({one.layer.folder / one.path for one in layers} - shared) <= len(gone)
        for refusal in refusals:
            assert all(one.where for one in refusal.problems)


def mail(number: int, path: str, hunk: bytes) -> bytes:
    names = b"diff --git a/%s b/%s\n--- a/%s\n+++ b/%s\n".replace(b"%s", path.encode())
    return b"From %040d Mon Sep 17 00:00:00 2001\nSubject: [PATCH] %d\n\n" % (number, number) + names + hunk


def test_an_edit_changes_the_mail_that_made_the_file_and_takes_out_one_without_effect(tmp_path: Path) -> None:
    notes = mail(1, "pkg/notes.txt", b"@@ -1,3 +1,3 @@\n-one\n+uno\n two\n three\n")
    settings = mail(
        2, "pkg/settings.yaml", b"@@ -1,3 +1,3 @@\n limit: 1\n path: file://pkg\n-name: demo\n+name: shown\n"
    )
    sub = mail(3, "pkg/sub/c.py", b"@@ -1,3 +1,4 @@\n+# Ours.\n from pkg.b import helper\n \n \n")
    layer = {"layer.toml": LAYER["layer.toml"].partition(b"\n[[edit]]")[0], "patches/box.patch": notes + settings + sub}
    put(tmp_path, layer)
    edits = {"pkg/notes.txt": UPSTREAM["pkg/notes.txt"], "pkg/settings.yaml": b"limit: 1\npath: file://pkg\nname: x\n"}
    wanted = {**contents(given_by(tmp_path)), **edits}
    refreshed(tmp_path, wanted)
    assert contents(given_by(tmp_path)) == wanted
    mailbox = (tmp_path / "demo/patches/box.patch").read_bytes()
    assert re.sub(rb"^index .*\n", b"", mailbox, flags=re.M) == settings.replace(b"shown", b"x") + sub
