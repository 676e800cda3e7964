"""The content of an overlay and of those it extends: what is taken over, what is dropped, what clashes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npu_overlays.errors import MergeError

from .overlays import apply, load, mistakes, write

UPSTREAM = {"pkg/a.py": b"def f(): return 1\ndef g(): return 1\n", "pkg/b.yaml": b"x: 1\ny: 1\n"}
BASE: dict[str, str | bytes] = {
    "tree/pkg/a.py": "@replaced(why='base')\ndef f(): return 2\n@replaced(why='base')\ndef g(): return 2\n",
    "tree/pkg/new.py": b"'''Base.'''\n",
    "tree/pkg/run.sh": b"echo\n",
    "patches/1.patch": b"Why: base\n\ndiff --git a/pkg/b.yaml b/pkg/b.yaml\n--- a/pkg/b.yaml\n+++ b/pkg/b.yaml\n"
    b"@@ -1,2 +1,2 @@\n-x: 1\n+x: 2\n y: 1\n",
}
EDIT = '[[tool.overlay.edit]]\npaths = ["pkg/b.yaml"]\nfind = "y: 1"\nreplace = "y: 2"\ncount = 1\nwhy = "base"\n'


def _extend(root: Path, files: dict[str, str | bytes], config: str = "") -> str:
    base = write(root, BASE, config=EDIT)
    return write(root, files, name="new", config=f'extends = "{base}"\n{config}')


def test_everything_of_the_base_is_taken_over_in_its_order(tmp_path: Path) -> None:
    name = _extend(
        tmp_path,
        {
            "tree/pkg/a.py": "@added(why='new')\ndef h(): pass\n",
            "tree/pkg/own.py": b"'''New.'''\n",
            "patches/0.patch": b"Why: new\n\ndiff --git a/pkg/b.yaml b/pkg/b.yaml\n--- a/pkg/b.yaml\n+++ b/pkg/b.yaml\n"
            b"@@ -1,2 +1,2 @@\n-x: 2\n+x: 3\n y: 1\n",
        },
    )
    content = load(tmp_path, name)
    assert content.lineage == ("pkg@1111111",)
    assert [(one.symbol, one.overlay) for one in content.operations] == [
        ("f", "pkg@1111111"),
        ("g", "pkg@1111111"),
        ("h", "pkg@2222222"),
    ]
    assert [file.file for file in content.patches] == ["pkg@1111111/patches/1.patch", "pkg@2222222/patches/0.patch"]
    assert [file.path for file in content.files] == ["pkg/new.py", "pkg/run.sh", "pkg/own.py"]
    tree = apply(UPSTREAM, content).tree
    assert tree.after("pkg/b.yaml") == b"x: 3\ny: 2\n"


def test_what_is_dropped_is_left_out_and_can_be_said_anew(tmp_path: Path) -> None:
    drop = 'drop = ["pkg/a.py:f", "pkg/new.py", "1.patch", "pkg/b.yaml"]\n'
    own: dict[str, str | bytes] = {
        "tree/pkg/a.py": "@edited(('1', '3'), why='new')\ndef f(): ...\n",
        "tree/pkg/new.py": b"'''New.'''\n",
    }
    content = load(tmp_path, _extend(tmp_path, own, drop))
    assert [(one.symbol, one.action) for one in content.operations] == [("g", "replaced"), ("f", "edited")]
    assert [(file.path, file.overlay) for file in content.files] == [
        ("pkg/run.sh", "pkg@1111111"),
        ("pkg/new.py", "pkg@2222222"),
    ]
    assert not content.patches
    assert not content.edits


def test_a_whole_file_of_operations_is_dropped_by_its_path(tmp_path: Path) -> None:
    content = load(tmp_path, _extend(tmp_path, {}, 'drop = ["pkg/a.py"]\n'))
    assert content.operations == ()


def test_a_shared_definition_is_dropped_target_by_target(tmp_path: Path) -> None:
    shared = "@replaced(why='w', targets=['pkg/a.py:f', 'pkg/a.py:g'])\ndef any(): return 2\n"
    base = write(tmp_path, {"shared/s.py": shared})
    name = write(tmp_path, {}, name="new", config=f'extends = "{base}"\ndrop = ["pkg/a.py:g"]\n')
    assert [one.symbol for one in load(tmp_path, name).operations] == ["f"]


def test_an_overlay_can_be_extended_over_several_steps(tmp_path: Path) -> None:
    base = write(tmp_path, BASE)
    new = write(tmp_path, {}, name="new", config=f'extends = "{base}"\ndrop = ["pkg/new.py"]\n')
    config = f'extends = "{new}"\ndrop = ["pkg/run.sh"]\n'
    content = load(tmp_path, write(tmp_path, {"tree/pkg/new.py": b"x = 1\n"}, name="newest", config=config))
    assert content.lineage == ("pkg@1111111", "pkg@2222222")
    assert [(file.path, file.overlay) for file in content.files] == [("pkg/new.py", "pkg@3333333")]


def test_a_drop_that_drops_nothing_is_refused(tmp_path: Path) -> None:
    name = _extend(tmp_path, {}, 'drop = ["pkg/a.py:h", "pkg/none.py", "pkg/new.py"]\n')
    with pytest.raises(MergeError) as caught:
        load(tmp_path, name)
    where = f"{tmp_path}/pkg@2222222/pyproject.toml: tool.overlay.drop"
    assert mistakes(caught.value) == [
        f"{where}: `pkg/a.py:h` drops nothing; delete the entry, or mend its name",
        f"{where}: `pkg/none.py` drops nothing; delete the entry, or mend its name",
    ]


def test_what_two_overlays_of_a_lineage_both_say_is_refused(tmp_path: Path) -> None:
    own: dict[str, str | bytes] = {
        "tree/pkg/a.py": "@edited(('1', '3'), why='new')\ndef f(): ...\n",
        "tree/pkg/new.py": b"'''New.'''\n",
    }
    name = _extend(tmp_path, own)
    with pytest.raises(MergeError) as caught:
        load(tmp_path, name)
    assert mistakes(caught.value) == [
        (
            "pkg@2222222/tree/pkg/new.py: the same file as pkg@1111111/tree/pkg/new.py;"
            ' name "pkg/new.py" in tool.overlay.drop to leave out the inherited one'
        ),
    ]
    content = load(tmp_path, _extend(tmp_path, {"tree/pkg/a.py": own["tree/pkg/a.py"]}, 'drop = ["pkg/new.py"]\n'))
    with pytest.raises(MergeError) as caught:
        apply(UPSTREAM, content)
    assert mistakes(caught.value) == [
        (
            "pkg@2222222/tree/pkg/a.py:3: second operation on `f` of pkg/a.py; the first is"
            ' pkg@1111111/tree/pkg/a.py:3; name "pkg/a.py:f" in tool.overlay.drop to leave out the inherited one'
        ),
    ]


def test_an_operation_around_an_inherited_one_names_what_to_drop(tmp_path: Path) -> None:
    upstream = {"pkg/a.py": b"class A:\n    def f(self): return 1\n"}
    member = "class A:\n    @replaced(why='w')\n    def f(self): return 2\n"
    base = write(tmp_path, {"tree/pkg/a.py": member})
    whole = {"tree/pkg/a.py": "@replaced(why='w')\nclass A: pass\n"}
    name = write(tmp_path, whole, name="new", config=f'extends = "{base}"\n')
    with pytest.raises(MergeError) as caught:
        apply(upstream, load(tmp_path, name))
    assert mistakes(caught.value) == [
        (
            "pkg@2222222/tree/pkg/a.py:3: changes the same lines as pkg@1111111/tree/pkg/a.py:4;"
            ' name "pkg/a.py:A.f" in tool.overlay.drop to leave out the inherited one'
        )
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
        f"{name}/tree/folder: is not a regular file; put the file itself there",
        f"{name}/tree/link.py: is not a regular file; put the file itself there",
        f"{name}/tree/pipe: is not a regular file; put the file itself there",
        f"{name}/shared/d.txt: shared/ holds Python definitions; move it to tree/",
        f"{name}/patches/e.diff: patches/ holds *.patch files; rename or delete it",
        f"{name}/tree/pkg/a.py:2: `f` has no marker; decorate it with @added(why=…), @wrapped(why=…), …",
        f"{name}/tree/pkg/b.py: not valid Python: invalid syntax (line 2)",
        (
            f"{name}/shared/c.py:3: a shared definition stands at module level and names its targets;"
            ' targets=["path.py:Class.method"]'
        ),
    ]


def test_dropping_a_whole_file_leaves_the_drops_of_the_overlays_in_between_in_effect(tmp_path: Path) -> None:
    base = write(tmp_path, BASE)
    new = write(tmp_path, {}, name="new", config=f'extends = "{base}"\ndrop = ["pkg/a.py:f"]\n')
    config = f'extends = "{new}"\ndrop = ["pkg/a.py"]\n'
    assert load(tmp_path, write(tmp_path, {}, name="newest", config=config)).operations == ()


def test_a_substitution_that_the_base_makes_already_says_so(tmp_path: Path) -> None:
    name = _extend(tmp_path, {}, EDIT.replace("base", "new"))
    with pytest.raises(MergeError) as caught:
        apply({**UPSTREAM, "pkg/b.yaml": b"x: 1\ny: 1\n"}, load(tmp_path, name))
    assert mistakes(caught.value) == [
        (
            "pkg@2222222/pyproject.toml: tool.overlay.edit (pkg/b.yaml): `y: 1` occurs 0 times, expected 1;"
            " pkg@1111111, which this extends, substitutes it already: delete it here"
        )
    ]


def test_a_dropped_file_need_not_be_sound(tmp_path: Path) -> None:
    base = write(tmp_path, {**BASE, "tree/pkg/b.py": "def f(): pass\n"})
    name = write(tmp_path, {}, name="new", config=f'extends = "{base}"\ndrop = ["pkg/b.py"]\n')
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
            f"{name}/{path}: is by its name what an editor or a merge left behind;"
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


def test_the_digest_tells_of_every_file_of_the_lineage(tmp_path: Path) -> None:
    name = _extend(tmp_path, {"tree/pkg/own.py": b"x = 1\n"})
    digests = {load(tmp_path, name).digest}
    for path in (f"{name}/tree/pkg/own.py", "pkg@1111111/tree/pkg/new.py", "pkg@1111111/patches/1.patch"):
        with (tmp_path / path).open("ab") as file:
            file.write(b"\n")
        digests.add(load(tmp_path, name).digest)
    assert len(digests) == 4


@pytest.mark.parametrize("name", ["a\nb.txt", "a\x1b[31m.txt", "a\u202eb.txt", "a\udcff.txt", "a\\b.txt", "c\rd/x.txt"])
@pytest.mark.parametrize("kind", ["tree/pkg", "patches", "shared"])
def test_a_file_whose_name_cannot_be_shown_is_refused(tmp_path: Path, name: str, kind: str) -> None:
    overlay = write(tmp_path, {f"{kind}/{name}": b"x"})
    with pytest.raises(MergeError) as caught:
        load(tmp_path, overlay)
    (mistake,) = mistakes(caught.value)
    assert "has a name with" in mistake
