"""Where a refresh writes what it derived: into settings as they are written, and into no installed layer."""

from __future__ import annotations

import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest
import tomllib

from npu_overlays.errors import UsageError
from npu_overlays.overlay.acceptances import Acceptance
from npu_overlays.overlay.bounds import Bounds
from npu_overlays.overlay.project import Layer, TextEdit
from npu_overlays.refreshing.files import LayerFile
from npu_overlays.refreshing.placing import refuse_installed
from npu_overlays.refreshing.settings import with_change, with_new

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
    text, split = with_change("layer.toml", text, EDIT, "a.yaml", None)
    assert (tomllib.loads(text), split) == (tomllib.loads(LAYER), None)


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
    text, split = with_change("layer.toml", layer, both, "a.yaml", "a: 3")
    assert split is not None
    first, second = tomllib.loads(with_new("layer.toml", text, split))["edit"]
    assert first == {"paths": ["b.yaml"], "find": "a: 1", "replace": "a: 2", **said}
    assert second == {"paths": ["a.yaml"], "find": "a: 1", "replace": "a: 3", **said}


def test_an_installed_layer_is_not_changed() -> None:
    here = LayerFile(layer=Layer(name="here", folder=Path("/nowhere")), path="tree/a.py", content=b"")
    refuse_installed([here])
    folder = Path(sysconfig.get_path("purelib")) / "acme"
    there = LayerFile(layer=Layer(name="acme", folder=folder), path="tree/a.py", content=b"")
    with pytest.raises(UsageError, match=r"acme.*would have to be changed where it is installed"):
        refuse_installed([here, there])
