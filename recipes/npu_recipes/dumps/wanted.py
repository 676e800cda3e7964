"""Wanted: what of a model is to be recorded, as options of a command or variables say it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What of a model is recorded.

    Args:
        calls: how many of its forwards.
        skip: how many before them are not.
        only: a regular expression: only modules whose path this is found in, and the model itself.
        elements: how many elements of a tensor at most, evenly spread over each of its dimensions; 0 for all.
    """

    calls: int = 1
    skip: int = 0
    only: str = ""
    elements: int = 65536
