"""Wanted: what of a model is to be recorded, as options of a command or variables say it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from npu_recipes.errors import Problem


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


def problems_of(wanted: Wanted, called: Callable[[str, object], str]) -> Iterator[Problem]:
    """Yield what cannot be wanted; `called` says how a field with its value was written."""
    for name, value, least in (("calls", wanted.calls, 1), ("skip", wanted.skip, 0), ("elements", wanted.elements, 0)):
        if value < least:
            yield Problem(where=called(name, value), what="is too small", fix=f"give {least} or more")
    try:
        re.compile(wanted.only)
    except re.error as error:
        fix = r"write one that is found in paths of modules, such as layers\.0\."
        yield Problem(where=called("only", wanted.only), what=f"is no regular expression: {error}", fix=fix)
