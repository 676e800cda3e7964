"""Cells: the overlays on disk → CI's jobs, all of them or those that a change touches, as each CI reads them."""

from npu_overlays.cells.batches import MOST, as_github, batches
from npu_overlays.cells.cell import PYTHONS, Cell, cells_of
from npu_overlays.cells.gitlab import as_gitlab
from npu_overlays.cells.ground import Ground, load_ground
from npu_overlays.cells.repository import Change, change_since
from npu_overlays.cells.touched import touched

__all__ = [
    "MOST",
    "PYTHONS",
    "Cell",
    "Change",
    "Ground",
    "as_github",
    "as_gitlab",
    "batches",
    "cells_of",
    "change_since",
    "load_ground",
    "touched",
]
