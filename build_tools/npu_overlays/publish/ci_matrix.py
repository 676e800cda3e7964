"""CI matrix: the overlays on disk → a job for each overlay and each Python, as GitHub and GitLab read them."""

from __future__ import annotations

import io
import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from packaging.specifiers import SpecifierSet

from npu_overlays.contracts.lock_head import load_metadata
from npu_overlays.contracts.metadata import UpstreamMetadata
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.overlay_folders import load_all
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stacks import Stacks, load_stacks

PYTHONS = ("3.10", "3.11", "3.12", "3.13")
# GitHub refuses a matrix of more than 256 jobs; some are left for what a workflow adds.
MATRIX_LIMIT = 250
_GITLAB_HEADER = (
    "# Made by `npu-overlays matrix --format gitlab`, for a job with `trigger: include: artifact`. Do not edit.\n"
)
# Set elsewhere, it names a registry's own copy: registry.example.com/library/python.
_IMAGE = "PYTHON_IMAGE"
_TEMPLATE = {
    "image": f"${{{_IMAGE}}}:${{PYTHON_VERSION}}",
    "script": ["make wheels", "make test-quick"],
    "artifacts": {"paths": ["wheels/"], "expire_in": "1 week"},
    "interruptible": True,
}
# A pipeline without a job cannot be created, and the job that triggers it would fail.
_NOTHING = {"script": ["echo 'no overlay is touched by this change'"]}


@dataclass(frozen=True, kw_only=True)
class OverlayFolder:
    """A folder of overlays and what jobs follow from."""

    root: Path  # the folder
    overlays: tuple[Overlay, ...]  # all of them, by name
    stacks: Stacks  # those beside them
    # by name of the overlay, upstream's metadata in its lock; none of an overlay that is not locked yet
    locked: Mapping[str, UpstreamMetadata]


class Cell(TypedDict):
    """One job."""

    name: str  # of the job
    overlay: str  # its name, as every command takes it
    project: str  # upstream's distribution name
    python: str  # the version to build and test with
    stack: str  # the stack the overlay is part of, or empty
    sources: str  # the sources of upstream's bytes, in the order they are tried: ``git``, ``archive``, or both
    artifact: str  # a name for the wheels of this job, of characters every artifact store takes


class Batch(TypedDict):
    """One matrix of several, with its number from 1; a workflow reads the cells below ``include``."""

    batch: int
    cells: dict[str, list[Cell]]


def load_overlay_folder(root: Path) -> OverlayFolder:
    """Return a folder of overlays.

    Raises:
        ConfigError: there are no overlays, or one of them, its lock, or a stack is wrong; with every mistake.
    """
    overlays = tuple(load_all(root))
    locked = {one.name: load_metadata(one) for one in overlays if (one.folder / LOCK_FILE).is_file()}
    return OverlayFolder(root=root, overlays=overlays, stacks=load_stacks(root), locked=locked)


def cells_of(folder: OverlayFolder, names: Container[str] | None = None) -> list[Cell]:
    """Return the cells of all overlays, or of those named, by name of the overlay and then version of Python."""
    cells = []
    for overlay in folder.overlays:
        if names is None or overlay.name in names:
            metadata = folder.locked.get(overlay.name)
            # An overlay without a lock may support every Python.
            supported = SpecifierSet(metadata.fields.get("requires-python", "") if metadata else "")
            for python in PYTHONS:
                # The last patch release there can be: ">=3.10.2" does not leave out Python 3.10.
                if supported.contains(f"{python}.99"):
                    cells.append(_cell(overlay, python, folder.stacks))
    return cells


def _cell(overlay: Overlay, python: str, stacks: Stacks) -> Cell:
    found = stacks.of(overlay.name)
    sources = {"git": overlay.pin.commit, "archive": overlay.pin.archives}
    return Cell(
        name=f"{overlay.name} py{python}",
        overlay=overlay.name,
        project=overlay.pin.project,
        python=python,
        stack=found[0].name if found else "",
        sources=" ".join(kind for kind, known in sources.items() if known),
        artifact=f"{overlay.distribution}-{overlay.name.partition('@')[2]}-py{python}",
    )


def batches(cells: Sequence[Cell]) -> list[Batch]:
    """Return the cells in their order, in matrices of no more than `MATRIX_LIMIT`; none for no cells."""
    found: list[Batch] = []
    for start in range(0, len(cells), MATRIX_LIMIT):
        part = list(cells[start : start + MATRIX_LIMIT])
        found.append(Batch(batch=len(found) + 1, cells={"include": part}))
    return found


def as_github(cells: Sequence[Cell]) -> str:
    """Return the line for ``$GITHUB_OUTPUT``: ``batches=[…]``, empty if nothing is to be run."""
    return f"batches={json.dumps(batches(cells), separators=(',', ':'))}\n"


def as_gitlab(cells: Sequence[Cell]) -> str:
    """Return the child pipeline, in YAML: a job for each cell, under its name and in its order."""
    from ruamel.yaml import YAML  # noqa: PLC0415  # takes time, and no other format needs it

    pipeline: dict[str, object] = {"variables": {_IMAGE: "python"}, ".cell": _TEMPLATE}
    for cell in cells:
        pipeline[cell["name"]] = {
            "extends": ".cell",
            "variables": {"OVERLAY": cell["overlay"], "PYTHON_VERSION": cell["python"]},
            "artifacts": {"name": cell["artifact"]},  # beside those of the template: `extends` merges tables
        }
    text = io.StringIO()
    yaml = YAML()
    yaml.width = 4096  # no line is folded
    yaml.dump(pipeline if cells else {"nothing to do": _NOTHING}, text)
    return _GITLAB_HEADER + text.getvalue()
