"""The CI matrix: a folder of overlays in, one cell for each overlay and Python version out."""

from __future__ import annotations

from pathlib import Path

from npu_overlays.errors import ConfigError, Problem
from npu_overlays.project import load_overlay, overlay_folders

PYTHONS = ("3.10", "3.11", "3.12", "3.13")


def matrix(root: Path) -> list[dict[str, str]]:
    """Return the cells in a stable order; raises `ConfigError` where there are no overlays.

    A cell holds ``name`` (of the job), ``overlay``, ``project``, ``python`` and
    ``stack`` where the overlay is part of one.
    """
    overlays = [load_overlay(folder) for folder in overlay_folders(root)]
    if not overlays:
        raise ConfigError(Problem(where=str(root), what="holds no overlay", fix="name the folder with --overlays"))
    return [
        {"name": f"{one.name} py{python}", "overlay": one.name, "project": one.pin.project, "python": python}
        for one in overlays
        for python in PYTHONS
    ]
