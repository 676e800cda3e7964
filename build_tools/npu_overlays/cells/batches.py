"""Batches: cells → as many matrices as it takes for each to be one that GitHub runs, and the line for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypedDict

from npu_overlays.cells.cell import Cell

# GitHub refuses a matrix of more than 256 jobs; some are left for what a workflow adds.
MOST = 250


class Cells(TypedDict):
    """A matrix, as a workflow reads it."""

    include: list[Cell]


class Batch(TypedDict):
    """One matrix of several, with its number from 1."""

    batch: int
    cells: Cells


def batches(cells: Sequence[Cell]) -> list[Batch]:
    """Return the cells in their order, in matrices of no more than `MOST`; none for no cells."""
    parts = (list(cells[start : start + MOST]) for start in range(0, len(cells), MOST))
    return [Batch(batch=number, cells=Cells(include=part)) for number, part in enumerate(parts, start=1)]


def as_github(cells: Sequence[Cell]) -> str:
    """Return the line for ``$GITHUB_OUTPUT``: ``batches=[…]``, empty where nothing is to be run."""
    return f"batches={json.dumps(batches(cells), separators=(',', ':'))}\n"
