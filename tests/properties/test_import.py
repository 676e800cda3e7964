"""Over files that are edited at random: what git says of the edits is given by an overlay, in either form."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hypothesis import HealthCheck, Phase, assume, event, given, settings
from hypothesis import strategies as st

from language.pairs import source_tree
from npu_overlays.authoring.import_patches.applied_patches import check_same, given_by_git, take
from npu_overlays.authoring.import_patches.forms import FormBuilder, FormKind
from npu_overlays.authoring.import_patches.patch_folder import InputPatch
from npu_overlays.authoring.init.alternatives import Alternatives
from npu_overlays.authoring.init.init import StagedOverlay
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.layer_content import OverlayFile
from support.overlays import write_overlay

from .often import examples
from .test_generated import _valid
from .test_refresh import edits, python

thorough = settings(
    max_examples=examples(25),
    deadline=None,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
MODULE, TEXT = "pkg/a.py", "pkg/a.yaml"
FORMS: tuple[FormKind, ...] = ("patches", "operations")
_LINES = st.lists(st.sampled_from(["a: 1", "b: 2", "- c", "", "é"]), max_size=8)
_TEXTS = st.builds(lambda lines, end: ("\n".join(lines) + end).encode(), _LINES, st.sampled_from(["", "\n", "\r\n"]))


def diff(folder: Path, before: Mapping[str, bytes], after: Mapping[str, bytes | None]) -> bytes:
    """Return what git says of two states of files."""

    def git(*arguments: str) -> bytes:
        command = ["git", "-c", "core.autocrlf=false", *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout

    git("init", "--quiet")
    trees = []
    for files in (before, after):
        for path, content in files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).unlink(missing_ok=True)
            if content is not None:
                (folder / path).write_bytes(content)
        git("add", "--all", "--force")
        trees.append(git("write-tree").decode().strip())
    return git("diff", "--binary", *trees)


@thorough
@given(python, _TEXTS, st.data())
def test_what_git_says_of_edits_is_given_by_an_overlay(content: bytes, text: bytes, data: st.DataObject) -> None:
    before = {MODULE: content, TEXT: text}
    wanted = data.draw(edits(content).filter(_valid))
    after = {MODULE: wanted, TEXT: data.draw(st.none() | _TEXTS), "pkg/new.txt": data.draw(st.none() | _TEXTS)}
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "upstream").mkdir()
        patch = diff(Path(place) / "upstream", before, after)
        assume(patch)
        overlay = load_overlay(
            write_overlay(
                Path(place) / "overlays",
                project="pkg",
                commit="1" * 40,
                repository="https://example.invalid/pkg",
                packages=["pkg"],
                files={},
            )
        )
        tree = source_tree(before)
        given_patch = InputPatch(file=OverlayFile(layer="", path="x.patch", file="x.patch", content=patch))
        taken = take([given_patch], tree, overlay.pin, only_shipped=False).taken
        check_same(taken[-1].after, given_by_git(taken, tree), "x")
        given_now = {path: taken[-1].after.after(path) for path in after}
        assert {path: one for path, one in given_now.items() if one is not None} == {
            path: one for path, one in after.items() if one is not None
        }
        begun = StagedOverlay(stage=overlay.folder, overlay=overlay, tree=tree, files={}, offer=Alternatives())
        former = FormBuilder(begun, taken)
        for form in FORMS:
            event(f"{form}: {'as it stands' if not former.prove(former.files(form, _why)).otherwise else 'alike'}")
        event(", ".join(sorted(former.counts())))


def _why(_action: str, _target: str) -> str:
    return "w"
