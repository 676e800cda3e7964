"""The content of a pin and of its layers: what is taken over, what is dropped, what clashes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npu_overlays.errors import MergeError
from npu_overlays.overlay.layer_content import OverlayFile, file_reason

from .overlays import apply, layer, load, mistakes, write

UPSTREAM = {"pkg/a.py": b"def f(): return 1\ndef g(): return 1\n", "pkg/b.yaml": b"x: 1\ny: 1\n"}
BASE: dict[str, str | bytes] = {
    "tree/pkg/a.py": "@replaced(why='base')\ndef f(): return 2\n@replaced(why='base')\ndef g(): return 2\n",
    "tree/pkg/new.py": b"'''Base.'''\n",
    "tree/pkg/run.sh": b"echo\n",
    "patches/1.patch": b"Why: base\n\ndiff --git a/pkg/b.yaml b/pkg/b.yaml\n--- a/pkg/b.yaml\n+++ b/pkg/b.yaml\n"
    b"@@ -1,2 +1,2 @@\n-x: 1\n+x: 2\n y: 1\n",
}
EDIT = '[[edit]]\npaths = ["pkg/b.yaml"]\nfind = "y: 1"\nreplace = "y: 2"\ncount = 1\nwhy = "base"\n'


def drops(*names: str, key: str = "tool.overlay.drop") -> str:
    """Return the tables that leave something out."""
    return "".join(f'[[{key}]]\nname = "{name}"\nwhy = "w"\n' for name in names)


@pytest.mark.parametrize(
    ("path", "content", "reason"),
    [
        ("pkg/new.yaml", b"a: 1\n# later\n", "the file gives no reason"),
        ("pkg/new.yaml", b"---\n# Why.\na: 1\n", "Why."),
        ("pkg/new.yaml", b"'a': 1\n", "the file gives no reason"),
        ("pkg/new.json", b'{"a": 1}\n', "the file gives no reason"),
        ("pkg/new.sh", b"#!/bin/sh\n# Why.\n", "Why."),
        ("pkg/new.sh", b"#!/bin/sh\necho\n", "the file gives no reason"),
        ("pkg/new.py", b"x = 1\n", "the file gives no reason"),
        ("pkg/new.py", b"# Copyright A\n'Why.'\n", "Why."),
        ("pkg/new.py", b'r"""\nWhy.\n"""\n', "Why."),
        ("pkg/new.py", b"", "the file gives no reason"),
        ("pkg/new.cpp", b"/*\n Why. */\n", "Why."),
        ("pkg/new.html", b"<!-- Why. -->\n", "Why."),
        ("pkg/new.bin", b"#\x00\x01", "the file gives no reason"),
    ],
)
def test_the_reason_of_an_added_file_is_its_docstring_or_comment(path: str, content: bytes, reason: str) -> None:
    assert file_reason(OverlayFile(layer="pkg", path=path, file=path, content=content)) == reason


def _on(root: Path, files: dict[str, str | bytes], config: str = "") -> str:
    """Write a layer and a pin on it."""
    layer(root, BASE, config=EDIT)
    return write(root, files, name="new", config=config)


def test_everything_of_a_layer_applies_before_what_is_the_pins_own(tmp_path: Path) -> None:
    name = _on(
        tmp_path,
        {
            "tree/pkg/a.py": "@added(why='new')\ndef h(): pass\n",
            "tree/pkg/own.py": b"'''New.'''\n",
            "patches/0.patch": b"Why: new\n\ndiff --git a/pkg/b.yaml b/pkg/b.yaml\n--- a/pkg/b.yaml\n+++ b/pkg/b.yaml\n"
            b"@@ -1,2 +1,2 @@\n-x: 2\n+x: 3\n y: 1\n",
        },
    )
    content = load(tmp_path, name)
    assert content.layers == ("pkg",)
    assert [(one.symbol, one.layer) for one in content.operations] == [
        ("f", "pkg"),
        ("g", "pkg"),
        ("h", "pkg@2222222"),
    ]
    assert [file.file for file in content.patches] == ["pkg/patches/1.patch", "pkg@2222222/patches/0.patch"]
    assert [file.path for file in content.files] == ["pkg/new.py", "pkg/run.sh", "pkg/own.py"]
    tree = apply(UPSTREAM, content).tree
    assert tree.after("pkg/b.yaml") == b"x: 3\ny: 2\n"


def test_what_is_dropped_is_left_out_and_can_be_said_anew(tmp_path: Path) -> None:
    own: dict[str, str | bytes] = {
        "tree/pkg/a.py": "@edited(('1', '3'), why='new')\ndef f(): ...\n",
        "tree/pkg/new.py": b"'''New.'''\n",
    }
    content = load(tmp_path, _on(tmp_path, own, drops("pkg/a.py:f", "pkg/new.py", "1.patch", "pkg/b.yaml")))
    assert [(one.symbol, one.action) for one in content.operations] == [("g", "replaced"), ("f", "edited")]
    assert [(file.path, file.layer) for file in content.files] == [
        ("pkg/run.sh", "pkg"),
        ("pkg/new.py", "pkg@2222222"),
    ]
    assert not content.patches
    assert not content.edits
    assert [one.drop.name for one in content.dropped] == ["pkg/a.py:f", "pkg/new.py", "1.patch", "pkg/b.yaml"]


def test_a_whole_file_of_operations_is_dropped_by_its_path(tmp_path: Path) -> None:
    content = load(tmp_path, _on(tmp_path, {}, drops("pkg/a.py")))
    assert content.operations == ()


def test_all_that_lies_in_a_folder_is_dropped_by_its_name_and_a_slash(tmp_path: Path) -> None:
    content = load(tmp_path, _on(tmp_path, {"tree/pkg/own.py": b"x = 1\n"}, drops("pkg/")))
    assert (content.operations, content.edits) == ((), ())
    assert [file.path for file in (*content.files, *content.patches)] == ["pkg/own.py", "1.patch"]
    assert [one.drop.name for one in content.dropped] == ["pkg/"]


def test_a_shared_definition_is_dropped_target_by_target(tmp_path: Path) -> None:
    shared = "@replaced(why='w', targets=['pkg/a.py:f', 'pkg/a.py:g'])\ndef any(): return 2\n"
    layer(tmp_path, {"shared/s.py": shared})
    assert [one.symbol for one in load(tmp_path, write(tmp_path, {}, config=drops("pkg/a.py:g"))).operations] == ["f"]


def test_a_target_of_a_form_for_other_versions_may_be_dropped(tmp_path: Path) -> None:
    """Which targets it has is listed for no version but its own."""
    form = "like('pkg/a.py:f', within='pkg/*.py')"
    text = (
        f"from npu_overlays.markers import like\n@replaced(why='w', until='1', targets={form})\ndef any(): return 2\n"
    )
    layer(tmp_path, {"shared/s.py": text})
    dropped = drops("pkg/b.py:f")
    assert load(tmp_path, write(tmp_path, {}, config=dropped)).operations == ()
    with pytest.raises(MergeError, match="names nothing in the layers below"):
        load(tmp_path, write(tmp_path, {}, config=dropped.replace("pkg/b.py", "other/b.py")))


def test_layers_lie_on_each_other_in_the_order_they_are_named(tmp_path: Path) -> None:
    layer(tmp_path, BASE)
    layer(tmp_path, {}, name="middle", config=drops("pkg/new.py", key="drop"))
    layer(tmp_path, {"tree/pkg/new.py": b"x = 1\n"}, name="top", config=drops("pkg/run.sh", key="drop"))
    content = load(tmp_path, write(tmp_path, {}, config='layers = ["pkg", "middle", "top"]\n'))
    assert content.layers == ("pkg", "middle", "top")
    assert [(file.path, file.layer) for file in content.files] == [("pkg/new.py", "top")]
    with pytest.raises(MergeError, match="names nothing in the layers below"):
        load(tmp_path, write(tmp_path, {}, config='layers = ["middle", "top", "pkg"]\n'))


def test_no_layer_is_one_too(tmp_path: Path) -> None:
    layer(tmp_path, BASE)
    content = load(tmp_path, write(tmp_path, {"tree/pkg/n.txt": b"n"}, config="layers = []\n"))
    assert (content.layers, content.operations) == ((), ())


def test_a_drop_that_drops_nothing_is_refused(tmp_path: Path) -> None:
    name = _on(tmp_path, {}, drops("pkg/a.py:h", "pkg/none/", "pkg", "pkg/new.py"))
    with pytest.raises(MergeError) as caught:
        load(tmp_path, name)
    where, fix = f"{tmp_path}/pkg@2222222/pyproject.toml", "delete the entry, or correct its name"
    assert mistakes(caught.value) == [
        f"{where}:13: tool.overlay.drop[1]: `pkg/a.py:h` names nothing in the layers below; {fix}",
        f"{where}:16: tool.overlay.drop[2]: `pkg/none/` names nothing in the layers below; {fix}",
        f"{where}:19: tool.overlay.drop[3]: `pkg` names nothing in the layers below; {fix}",
    ]


def test_what_two_layers_both_say_is_refused_with_both_named(tmp_path: Path) -> None:
    own: dict[str, str | bytes] = {
        "tree/pkg/a.py": "@edited(('1', '3'), why='new')\ndef f(): ...\n",
        "tree/pkg/new.py": b"'''New.'''\n",
    }
    name = _on(tmp_path, own)
    with pytest.raises(MergeError) as caught:
        load(tmp_path, name)
    assert mistakes(caught.value) == [
        (
            "pkg@2222222/tree/pkg/new.py: adds the same file as pkg/tree/pkg/new.py;"
            ' leave out that of pkg: a table [[drop]] of pkg@2222222 with name = "pkg/new.py" and why'
        ),
    ]
    content = load(tmp_path, _on(tmp_path, {"tree/pkg/a.py": own["tree/pkg/a.py"]}, drops("pkg/new.py")))
    with pytest.raises(MergeError) as caught:
        apply(UPSTREAM, content)
    assert mistakes(caught.value) == [
        (
            "pkg@2222222/tree/pkg/a.py:3: second operation on `f` of pkg/a.py; the first is pkg/tree/pkg/a.py:3;"
            ' leave out that of pkg: a table [[drop]] of pkg@2222222 with name = "pkg/a.py:f" and why'
        ),
    ]


def test_an_operation_around_one_of_a_lower_layer_names_what_to_drop(tmp_path: Path) -> None:
    upstream = {"pkg/a.py": b"class A:\n    def f(self): return 1\n"}
    member = "class A:\n    @replaced(why='w')\n    def f(self): return 2\n"
    layer(tmp_path, {"tree/pkg/a.py": member})
    name = write(tmp_path, {"tree/pkg/a.py": "@replaced(why='w')\nclass A: pass\n"}, name="new")
    with pytest.raises(MergeError) as caught:
        apply(upstream, load(tmp_path, name))
    assert mistakes(caught.value) == [
        (
            "pkg@2222222/tree/pkg/a.py:3: changes the same lines as pkg/tree/pkg/a.py:4;"
            ' leave out that of pkg: a table [[drop]] of pkg@2222222 with name = "pkg/a.py:A.f" and why'
        )
    ]


def test_a_file_or_a_link_to_nothing_in_place_of_a_content_folder_is_refused(tmp_path: Path) -> None:
    name = write(tmp_path, {"tree": "", "shared": ""})
    (tmp_path / name / "patches").symlink_to("elsewhere")
    with pytest.raises(MergeError) as caught:
        load(tmp_path, name)
    fix = "put the files into a folder of that name, or delete it"
    assert mistakes(caught.value) == [
        f"{name}/{kind}: is not a folder; {fix}" for kind in ("tree", "shared", "patches")
    ]


def test_a_folder_with_nearly_the_name_of_a_content_folder_is_refused(tmp_path: Path) -> None:
    name = write(tmp_path, {"Tree/pkg/a.py": "", "patch/b.patch": "", "notes/c.md": "", "trees": ""})
    with pytest.raises(MergeError) as caught:
        load(tmp_path, name)
    assert mistakes(caught.value) == [
        f"{name}/Tree: is no folder that an overlay reads; did you mean `tree`? Rename it",
        f"{name}/patch: is no folder that an overlay reads; did you mean `patches`? Rename it",
    ]


def test_the_mistakes_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "tree/pkg/a.py": "def f(): pass\n",
        "tree/pkg/b.py": "def f(:\n",
        "shared/c.py": "@added(why='w')\ndef f(): pass\n",
        "shared/d.txt": b"",
        "patches/e.diff": b"",
    }
    name = write(tmp_path, files)
    folder = tmp_path / name
    (folder / "tree" / "link.py").symlink_to("pkg/a.py")
    (folder / "tree" / "folder").symlink_to("pkg")
    os.mkfifo(folder / "tree" / "pipe")
    with pytest.raises(MergeError) as caught:
        load(tmp_path, name)
    assert mistakes(caught.value) == [
        f"{name}/tree/folder: is not a regular file; replace it by the file itself",
        f"{name}/tree/link.py: is not a regular file; replace it by the file itself",
        f"{name}/tree/pipe: is not a regular file; replace it by the file itself",
        f"{name}/shared/d.txt: shared/ holds Python definitions; move it to tree/",
        f"{name}/patches/e.diff: patches/ holds *.patch files; rename or delete it",
        f"{name}/tree/pkg/a.py:2: `f` has no marker; decorate it with @added(why=…), @wrapped(why=…), …",
        f"{name}/tree/pkg/b.py:2: not valid Python: invalid syntax; correct the syntax there",
        f'{name}/shared/c.py:3: a shared definition names no targets; write targets=["path.py:Class.method"]',
    ]


def test_dropping_a_whole_file_leaves_the_drops_of_the_layers_in_between_in_effect(tmp_path: Path) -> None:
    layer(tmp_path, BASE)
    layer(tmp_path, {}, name="middle", config=drops("pkg/a.py:f", key="drop"))
    config = f'layers = ["pkg", "middle"]\n{drops("pkg/a.py")}'
    assert load(tmp_path, write(tmp_path, {}, config=config)).operations == ()


def test_a_substitution_that_a_layer_makes_already_says_so(tmp_path: Path) -> None:
    name = _on(tmp_path, {}, EDIT.replace("base", "new").replace("[[edit]]", "[[tool.overlay.edit]]"))
    with pytest.raises(MergeError) as caught:
        apply({**UPSTREAM, "pkg/b.yaml": b"x: 1\ny: 1\n"}, load(tmp_path, name))
    assert mistakes(caught.value) == [
        (
            "pkg@2222222/pyproject.toml:13: tool.overlay.edit (pkg/b.yaml): `y: 1` occurs 0 times, expected 1;"
            " delete it here: pkg, which lies below, substitutes it already"
        )
    ]


def test_a_dropped_file_need_not_be_sound(tmp_path: Path) -> None:
    layer(tmp_path, {**BASE, "tree/pkg/b.py": "def f(): pass\n"})
    name = write(tmp_path, {}, name="new", config=drops("pkg/b.py"))
    assert [one.symbol for one in load(tmp_path, name).operations] == ["f", "g"]


@pytest.mark.parametrize(
    "path",
    [
        "tree/pkg/a.py~",
        "tree/pkg/a.py.orig",
        "tree/pkg/a.py.REJ",
        "tree/pkg/a.bak",
        "tree/pkg/#a.py#",
        "tree/pkg/a.py.swp",
        "tree/pkg/.ipynb_checkpoints/a.py",
        "shared/s.py~",
        "patches/0.patch.orig",
    ],
)
def test_what_an_editor_or_a_merge_left_behind_is_refused_by_name(tmp_path: Path, path: str) -> None:
    name = write(tmp_path, {"tree/pkg/new.py": b"x = 1\n", path: b"x = 2\n"})
    with pytest.raises(MergeError) as caught:
        load(tmp_path, name)
    assert mistakes(caught.value) == [
        (
            f"{name}/{path}: has a name as an editor or a merge leaves files behind;"
            " delete it; if it is meant, give it another name"
        )
    ]


def test_what_tools_leave_behind_is_no_content(tmp_path: Path) -> None:
    name = write(tmp_path, {"tree/pkg/new.py": b"x = 1\n"})
    digest = load(tmp_path, name).digest
    for path in (
        "tree/pkg/__pycache__/new.cpython-311.pyc",
        "tree/.ruff_cache/x",
        "tree/pkg/other.pyc",
        "tree/.DS_Store",
        "tree/pkg/Thumbs.db",
        "tree/pkg/desktop.ini",
        "tree/pkg/.new.py.swp",
        "shared/.s.py.swo",
    ):
        (tmp_path / name / path).parent.mkdir(exist_ok=True)
        (tmp_path / name / path).write_bytes(b"x")
    (tmp_path / name / "tree" / "pkg" / ".#new.py").symlink_to("me@machine.1234")  # Emacs: the file is being edited
    content = load(tmp_path, name)
    assert [file.path for file in content.files] == ["pkg/new.py"]
    assert content.digest == digest


def test_the_digest_tells_of_every_file_of_every_layer(tmp_path: Path) -> None:
    name = _on(tmp_path, {"tree/pkg/own.py": b"x = 1\n"})
    digests = {load(tmp_path, name).digest}
    for path in (f"{name}/tree/pkg/own.py", "pkg/tree/pkg/new.py", "pkg/patches/1.patch", "pkg/layer.toml"):
        with (tmp_path / path).open("ab") as file:
            file.write(b"\n")
        digests.add(load(tmp_path, name).digest)
    assert len(digests) == 5


@pytest.mark.parametrize("name", ["a\nb.txt", "a\x1b[31m.txt", "a\u202eb.txt", "a\udcff.txt", "a\\b.txt", "c\rd/x.txt"])
@pytest.mark.parametrize("kind", ["tree/pkg", "patches", "shared"])
def test_a_file_whose_name_cannot_be_shown_is_refused(tmp_path: Path, name: str, kind: str) -> None:
    overlay = write(tmp_path, {f"{kind}/{name}": b"x"})
    with pytest.raises(MergeError) as caught:
        load(tmp_path, overlay)
    (mistake,) = mistakes(caught.value)
    assert "has a name with" in mistake
