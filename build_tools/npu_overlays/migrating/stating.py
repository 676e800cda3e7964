"""Stating: patches that were applied → what those that do something say of it, above their first ``diff --git``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from npu_overlays.errors import MergeError, Problem
from npu_overlays.migrating.applying import Taken
from npu_overlays.overlay.bounds import Bounds
from npu_overlays.overlay.operations import Grounds
from npu_overlays.overlay.patches import stated_reason
from npu_overlays.refreshing.grounds import joined


def grounds_of(one: Taken) -> Grounds:
    """Return what a patch says of all that it does."""
    file = one.file
    return Grounds(reason=stated_reason(file.content, file.bounds), bounds=file.bounds, accept=one.patch.accept)


class Stated:
    """What patches say of what they do.

    Args:
        taken: the patches, in order.
    """

    def __init__(self, taken: Sequence[Taken]) -> None:
        self._taken = taken

    def of(self, target: str) -> Grounds:
        """Return what is said of a path, or of ``path:symbol``; with no reason where no patch gives one.

        Raises:
            MergeError: several patches have a part in it, and are for different versions, or go at different times.
        """
        path, _, symbol = target.partition(":")
        here = [one for one in self._taken if path in one.patch.paths]
        named = [one for one in here if any(_is_related(symbol, other) for other in self._symbols[one.file.path, path])]
        parts = {one.file.file: grounds_of(one) for one in named or here}
        when = {(one.bounds, one.reason.drop_when) for one in parts.values()}
        if len(when) > 1:
            what = f"is done by patches for different versions, or that go at different times: {', '.join(parts)}"
            raise MergeError(Problem(where=target, what=what, fix="let them say the same, or keep them as patches"))
        return joined(list(parts.values()), *next(iter(when), (Bounds(), "")))

    @cached_property
    def _symbols(self) -> dict[tuple[str, str], list[str]]:
        """The symbols that each patch changes, by its name and the path of the file."""
        found = {(one.file.path, path): list[str]() for one in self._taken for path in one.patch.paths}
        for one in self._taken:
            for change in one.changes():
                found[one.file.path, change.path] += [symbol.symbol for symbol in change.symbols()]
        return found


def _is_related(symbol: str, other: str) -> bool:
    """Return whether a symbol is another, holds it, or is held by it."""
    return f"{other}.".startswith(f"{symbol}.") or f"{symbol}.".startswith(f"{other}.")
