"""Stated reasons: applied patches → the reasons, bounds and acceptances they give for each target."""

from __future__ import annotations

from collections.abc import Sequence

from npu_overlays.authoring.import_patches.applied_patches import PatchStep
from npu_overlays.authoring.refresh.reasons import joined
from npu_overlays.changes.patch_series import Remaining, remaining
from npu_overlays.errors import MergeError, Problem
from npu_overlays.merge.results import PatchedFile
from npu_overlays.overlay.bounds import Bounds
from npu_overlays.overlay.operations import Grounds
from npu_overlays.overlay.patches import stated_reason


def grounds_of(one: PatchStep) -> Grounds:
    """Return the reason, bounds and acceptances that a patch gives for all of its changes."""
    file = one.file
    return Grounds(reason=stated_reason(file.content, file.bounds), bounds=file.bounds, accept=one.patch.accept)


class StatedReasons:
    """The reasons that patches give, in their order, for those of their changes that no later patch reverts."""

    def __init__(self, taken: Sequence[PatchStep]) -> None:
        self._grounds = {one.file.file: grounds_of(one) for one in taken}
        files: list[PatchedFile] = []
        for one in taken:
            for path in one.paths:
                file = PatchedFile(
                    patch=one.file.path,
                    path=path,
                    before=one.before.after(path),
                    after=one.after.after(path),
                    reason=one.patch.reason,
                    layer="",
                    where=one.file.file,
                )
                files.append(file)
        self._remaining = remaining(files)

    def of(self, target: str) -> Grounds:
        """Return the grounds of a path, or of ``path:symbol``; with an empty reason where no patch gives one.

        Raises:
            MergeError: several patches change it, and are for different versions, or can go at different times.
        """
        path, _, symbol = target.partition(":")
        here = [one for one in self._remaining if one.place.path == path]
        named = [one for one in here if symbol and _is_related(symbol, one)]
        parts = {one.effect.one.where: self._grounds[one.effect.one.where] for one in named or here}
        when = {(one.bounds, one.reason.drop_when) for one in parts.values()}
        if len(when) > 1:
            what = f"is done by patches for different versions, or that go at different times: {', '.join(parts)}"
            raise MergeError(Problem(where=target, what=what, fix="let them say the same, or keep them as patches"))
        return joined(list(parts.values()), *next(iter(when), (Bounds(), "")))


def _is_related(symbol: str, one: Remaining) -> bool:
    """Return whether a symbol is the one of a remaining change, contains it, or is a member of it."""
    other = one.place.symbol
    return f"{other}.".startswith(f"{symbol}.") or f"{symbol}.".startswith(f"{other}.")
