"""Cells: overlays and stacks → one job for each overlay and each Python that its upstream supports."""

from __future__ import annotations

from collections.abc import Container
from typing import TypedDict

from packaging.specifiers import SpecifierSet

from npu_overlays.cells.ground import Ground
from npu_overlays.contracts.metadata import UpstreamMetadata
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stacks import Stacks
from npu_overlays.pin import Pin

PYTHONS = ("3.10", "3.11", "3.12", "3.13")


class Cell(TypedDict):
    """One job.

    Keys:
        name: of the job.
        overlay: its name, as every command takes it.
        project: upstream's distribution name.
        python: the version to build and test with.
        stack: the stack the overlay is part of, or empty.
        sources: where upstream's bytes can be had, in the order they are tried: ``git``, ``archive``, or both.
        artifact: a name for the wheels of this job, of characters every artifact store takes.
    """

    name: str
    overlay: str
    project: str
    python: str
    stack: str
    sources: str
    artifact: str


def cells_of(ground: Ground, names: Container[str] | None = None) -> list[Cell]:
    """Return the cells, by name of the overlay and then version of Python.

    Args:
        ground: what lies where.
        names: of the overlays that are meant; None for all.
    """
    return [
        _cell(overlay, python, ground.stacks)
        for overlay in ground.overlays
        if names is None or overlay.name in names
        for python in _pythons(ground.locked.get(overlay.name))
    ]


def _pythons(metadata: UpstreamMetadata | None) -> list[str]:
    """Return the versions upstream supports: all of ours where there is no lock yet that says so."""
    supported = SpecifierSet(metadata.fields.get("requires-python", "") if metadata else "")
    # The last patch release there can be: ">=3.10.2" does not leave out Python 3.10.
    return [python for python in PYTHONS if supported.contains(f"{python}.99")]


def _sources(pin: Pin) -> tuple[tuple[str, object], ...]:
    return ("git", pin.commit), ("archive", pin.archives)


def _cell(overlay: Overlay, python: str, stacks: Stacks) -> Cell:
    return Cell(
        name=f"{overlay.name} py{python}",
        overlay=overlay.name,
        project=overlay.pin.project,
        python=python,
        stack=next((stack.name for stack in stacks.of(overlay.name)), ""),
        sources=" ".join(kind for kind, known in _sources(overlay.pin) if known),
        artifact=f"{overlay.distribution}-{overlay.name.partition('@')[2]}-py{python}",
    )
