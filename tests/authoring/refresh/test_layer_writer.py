"""Where a refresh writes what it derived: into settings as they are written, and into no installed layer."""

from __future__ import annotations

import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest
import tomllib

from language.overlays import layer, load, write
from language.pairs import source_tree
from npu_overlays.authoring.refresh.edited_files import EditedFile
from npu_overlays.authoring.refresh.layer_writer import LayerWriter
from npu_overlays.authoring.refresh.placement import (
    LayerFile,
    put_in_place,
    refuse_installed,
    staged,
    undone_on_failure,
)
from npu_overlays.authoring.refresh.planner import Planner
from npu_overlays.authoring.writer.settings_text import with_changes, with_new
from npu_overlays.commands.refresh import others_made_of
from npu_overlays.errors import OverlayError, UsageError
from npu_overlays.interrupts import Interrupted
from npu_overlays.merge.apply import apply_part
from npu_overlays.overlay.acceptances import Acceptance
from npu_overlays.overlay.bounds import Bounds
from npu_overlays.overlay.content import load_content
from npu_overlays.overlay.operations import Grounds, Reason
from npu_overlays.overlay.project import Layer, TextEdit
from npu_overlays.pipeline.preparation import AppliedInput

EDIT = TextEdit(paths=("a.yaml",), find="a: 1", replace="a: 2", count=1, why="Two.")
LAYER = 'project = "lib"\n\n[upstream]\nrepository = "r"\n'


@pytest.mark.parametrize(
    "listed", ["", "edit = []\n", 'edit = [{ paths = ["b"], find = "x", replace = "y", why = "w" }]\n']
)
def test_a_substitution_goes_behind_the_others_however_these_are_written(listed: str) -> None:
    before = tomllib.loads(listed + LAYER).get("edit", [])
    text = with_new(
        "layer.toml", listed + LAYER, TextEdit(paths=("a",), find="p:\n  q\n", replace="", count=1, why="w")
    )
    new = {"paths": ["a"], "find": "p:\n  q\n", "replace": "", "why": "w"}
    assert tomllib.loads(text)["edit"] == [*before, new]
    assert tomllib.loads(text)["upstream"] == {"repository": "r"}


def test_with_the_last_substitution_goes_the_list() -> None:
    text = with_new("layer.toml", LAYER, EDIT)
    text = with_changes("layer.toml", text, [(EDIT, "a.yaml", EDIT.find, None)])
    assert tomllib.loads(text) == tomllib.loads(LAYER)


def test_a_path_that_leaves_a_substitution_keeps_its_versions_and_what_it_accepts() -> None:
    said = {"why": "Two.", "since": "1.0", "until": "2.0", "accept": ["loss: tried"]}
    entry = f"paths = ['a.yaml', 'b.yaml'], find = 'a: 1', replace = 'a: 2', accept = {said['accept']}"
    layer = f"edit = [{{ {entry}, why = 'Two.', since = '1.0', until = '2.0' }}]\n{LAYER}"
    both = replace(
        EDIT,
        paths=("a.yaml", "b.yaml"),
        bounds=Bounds(since="1.0", until="2.0"),
        accept=(Acceptance(kind="loss", reason="tried"),),
    )
    text = with_changes("layer.toml", layer, [(both, "a.yaml", both.find, "a: 3")])
    first, second = tomllib.loads(text)["edit"]
    assert first == {"paths": ["b.yaml"], "find": "a: 1", "replace": "a: 2", **said}
    assert second == {"paths": ["a.yaml"], "find": "a: 1", "replace": "a: 3", **said}


def test_an_installed_layer_is_not_changed() -> None:
    here = LayerFile(layer=Layer(name="here", folder=Path("/nowhere")), path="tree/a.py", content=b"")
    refuse_installed([here])
    folder = Path(sysconfig.get_path("purelib")) / "acme"
    there = LayerFile(layer=Layer(name="acme", folder=folder), path="tree/a.py", content=b"")
    with pytest.raises(UsageError, match=r"acme.*is installed, and refresh does not change installed files"):
        refuse_installed([here, there])


FILE = "npu.txt"
SAID = 'accept = ["print: it is meant"]'


def overlay_with_files(root: Path) -> AppliedInput:
    """Return a pin and a layer, each with an added file of which it says something."""
    of_layer = f'[[file]]\npath = "pkg/theirs.txt"\n{SAID}\n'
    layer(root, {"tree/pkg/theirs.txt": "a\nb\nc\n"}, config=of_layer)
    own = f'\n[[tool.overlay.file]]\npath = "pkg/{FILE}"\n{SAID}\n'
    content = load(root, write(root, {f"tree/pkg/{FILE}": "one\ntwo\nthree\n"}, config=own))
    return AppliedInput(content=content, tree=source_tree({"pkg/m.py": b""}), absent=frozenset(), version="1.0")


def written(subject: AppliedInput, *edited: EditedFile) -> dict[str, str | None]:
    """Return the files that are to be otherwise, below the names of their layers."""
    marked = apply_part(subject.content, subject.tree)
    writer = LayerWriter(subject, subject.content.overlay.chain[-1], lambda *_: Grounds(reason=Reason(why="w")))
    files = writer.write(Planner(subject, marked).plan(edited), marked)
    with staged(subject.content.overlay, files) as overlay:
        load_content(overlay, "1.0")
    return {one.layer.label(one.path): one.content.decode() if one.content else None for one in files}


def test_what_is_said_of_an_added_file_goes_with_it(tmp_path: Path) -> None:
    subject = overlay_with_files(tmp_path)
    names = [one.name for one in subject.content.overlay.chain]
    files = written(subject, *(EditedFile(path=f"pkg/{name}", content=None) for name in (FILE, "theirs.txt")))
    for name, path, settings in zip(names, ("theirs.txt", FILE), ("layer.toml", "pyproject.toml"), strict=True):
        assert files[f"{name}/tree/pkg/{path}"] is None
        assert SAID not in (files[f"{name}/{settings}"] or "")


@pytest.mark.parametrize(
    ("content", "carried"), [("one\ntwo\nthree\n", True), ("one\n2\nthree\n", True), ("x\n", False)]
)
def test_what_is_said_of_an_added_file_is_said_of_it_under_its_new_name(
    tmp_path: Path, content: str, *, carried: bool
) -> None:
    subject = overlay_with_files(tmp_path)
    gone, came = EditedFile(path=f"pkg/{FILE}", content=None), EditedFile(path="pkg/new.txt", content=content.encode())
    files = written(subject, gone, came)
    settings = tomllib.loads(files[f"{subject.content.overlay.name}/pyproject.toml"] or "")["tool"]["overlay"]
    said = [{"path": "pkg/new.txt", "accept": ["print: it is meant"]}]
    assert settings.get("file", []) == (said if carried else [])


def test_an_added_file_of_a_layer_stays_in_it_under_its_new_name(tmp_path: Path) -> None:
    """Else its other pins, which the layer's own imports of it are changed for too, would lack it."""
    subject = overlay_with_files(tmp_path)
    gone, came = EditedFile(path="pkg/theirs.txt", content=None), EditedFile(path="pkg/new.txt", content=b"a\nb\n3\n")
    files = written(subject, gone, came)
    name = subject.content.overlay.chain[0].name
    assert {path for path in files if not path.startswith(f"{name}/")} == set()
    assert (files[f"{name}/tree/pkg/theirs.txt"], files[f"{name}/tree/pkg/new.txt"]) == (None, "a\nb\n3\n")
    said = tomllib.loads(files[f"{name}/layer.toml"] or "")["file"]
    assert said == [{"path": "pkg/new.txt", "accept": ["print: it is meant"]}]


@pytest.mark.parametrize("beside", [True, False])
def test_an_empty_file_moves_with_its_folder_alone(tmp_path: Path, *, beside: bool) -> None:
    """Else one that comes would lie in the layer of any empty one that goes, and say what that accepts."""
    own = {"tree/pkg/old/__init__.py": b"", "tree/pkg/old/a.txt": b"one\ntwo\n"}
    layer(tmp_path, own, config=f'[[file]]\npath = "pkg/old/__init__.py"\n{SAID}\n')
    content = load(tmp_path, write(tmp_path, {}))
    subject = AppliedInput(content=content, tree=source_tree({"pkg/m.py": b""}), absent=frozenset(), version="1.0")
    moved = [EditedFile(path="pkg/old/a.txt", content=None), EditedFile(path="pkg/new/a.txt", content=b"one\ntwo\n")]
    gone, came = (
        EditedFile(path="pkg/old/__init__.py", content=None),
        EditedFile(path="pkg/new/__init__.py", content=b""),
    )
    files = written(subject, gone, came, *(moved if beside else ()))
    lower, pin = (one.name for one in content.overlay.chain)
    assert {path.partition("/")[0] for path in files if path.endswith("new/__init__.py")} == {lower if beside else pin}
    assert (SAID in (files[f"{lower}/layer.toml"] or "")) == beside


def test_other_pins_of_a_layer_that_changes_are_named(tmp_path: Path) -> None:
    layer(tmp_path, {"tree/pkg/theirs.txt": b"a\n"})
    overlay = load(tmp_path, write(tmp_path, {})).overlay
    files = [LayerFile(layer=one, path="tree/pkg/theirs.txt", content=b"b\n") for one in overlay.chain]
    assert others_made_of(files, overlay) == []
    other = write(tmp_path, {}, name="new")
    assert others_made_of(files, overlay) == [("pkg", [other])]
    assert others_made_of(files[1:], overlay) == []


def test_what_is_wrong_in_the_copy_is_said_of_the_layer(tmp_path: Path) -> None:
    subject = overlay_with_files(tmp_path)
    files = [LayerFile(layer=one, path="tree/pkg/theirs.txt", content=None) for one in subject.content.overlay.chain]
    with pytest.raises(OverlayError) as refused, staged(subject.content.overlay, files) as overlay:
        load_content(overlay, "1.0")
    (problem,) = refused.value.problems
    assert problem.where.startswith(str(tmp_path / "pkg/layer.toml"))


def test_an_interrupt_gives_files_their_content_and_mode_back_and_says_so(tmp_path: Path) -> None:
    before = {"run.sh": b"one", "gone.txt": b"one", "kept.txt": b"one"}
    own = load(tmp_path, write(tmp_path, {f"tree/pkg/{name}": content for name, content in before.items()})).overlay
    folder = own.folder / "tree/pkg"
    (folder / "run.sh").chmod(0o755)
    kept = (folder / "kept.txt").stat().st_ctime_ns
    contents: dict[str, bytes | None] = {"run.sh": b"two", "gone.txt": None, "new/new.txt": b"two"}

    def change() -> None:
        pin = own.chain[-1]
        paths = [f"tree/pkg/{name}" for name in (*contents, "kept.txt")]
        with undone_on_failure([(pin, path) for path in paths], state="all is as it was"):
            files = zip(paths, contents.values(), strict=False)
            put_in_place([LayerFile(layer=pin, path=path, content=content) for path, content in files], state="")
            assert (folder / "new/new.txt").read_bytes() == b"two"
            raise Interrupted(2, "the overlay was refreshed")

    with pytest.raises(Interrupted) as caught:
        change()
    assert (caught.value.number, caught.value.state) == (2, "all is as it was")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert (folder / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (folder / "kept.txt").stat().st_ctime_ns == kept  # what did not change is not touched
