"""Ported overlay: an overlay and a commit → the overlay there, every proposal accepted, and both trees in a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.authoring.port.carry_out import carry_out
from npu_overlays.authoring.port.decisions import Decisions
from npu_overlays.authoring.port.parts import PortedPart
from npu_overlays.authoring.port.port import Port, evaluate
from npu_overlays.authoring.port.start import start
from npu_overlays.overlay.overlay_folders import find_overlay
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.pipeline.loader import Loader
from npu_overlays.pipeline.preparation import prepare
from verl_tests import BESIDE, PATCHED, UPSTREAM, changed_modules

# What is absorbed has to be accepted by its name.
_EVERYTHING = ("all", "absorbed")
_LEFT_OUT = "Left to a person."
_MARKS = ("body changed", "reads changed", "user changed")


@dataclass(frozen=True, kw_only=True)
class Ported:
    """The verdicts on an overlay's parts on a commit.

    Args:
        name: of the overlay there.
        fitting: how many apply as they stand, and nothing is proposed for them.
        accepted: those of which a proposal was carried out, each with what it was.
        left: those that are left to a person, which are left out.
        marked: those that apply, and of which `port` says that a person is to look at them.
        problems: why it cannot be locked though nothing is open; empty where it is.
        changed: the modules of upstream's that are changed, by their names.
    """

    name: str
    fitting: int
    accepted: tuple[str, ...]
    left: tuple[str, ...]
    marked: tuple[str, ...]
    problems: tuple[str, ...]
    changed: tuple[str, ...]

    def seen(self, name: str) -> str:
        """Return what a person has to see of an operation, which leaves it to them or marks it; empty for nothing.

        What is absorbed, retired or absent is dropped: what it did is upstream's to do, or nobody's.
        """
        dropped = (one for one in self.accepted if re.search(": (?:absorbed|retired|absent): ", one))
        return next((one for one in (*self.left, *self.marked, *dropped) if one.startswith(f"{name}: ")), "")


def port(root: Path, name: str, commit: str, choice: Choice, folder: Path) -> Ported:
    """Port an overlay and write upstream's packages, the patched ones and upstream's tests into a new folder.

    Args:
        root: a folder of overlays, into which the new one is written.
        name: the overlay that is ported.
        commit: what it is ported to.
        choice: where upstream is to come from.
        folder: where the trees go.

    Raises:
        OverlayError: upstream cannot be had, or a decision cannot be carried out.
    """
    begun = start(find_overlay(root, name), commit, choice)
    first = evaluate(begun.overlay.folder, choice, begun)
    left = [part for part in first.open if not part.verdict.proposal]
    last = first
    # Of one that is finished at once nothing is asked, and nothing can be decided.
    if not first.is_finished:
        carry_out(first, Decisions(accept=_EVERYTHING, drop={part.name: _LEFT_OUT for part in left}))
        last = evaluate(begun.overlay.folder, choice, begun, first)
    if last.is_finished:
        _write(last.new, choice, folder)
    return _ported(begun.overlay.folder.name, first, last, left, sorted(changed_modules(folder)))


def _ported(name: str, first: Port, last: Port, left: Iterable[PortedPart], changed: Iterable[str]) -> Ported:
    accepted = [part for part in first.parts if part.verdict.proposal and last is not first]
    still = (f"{part.name}: {part.verdict.kind} even then: {part.verdict.evidence}" for part in last.open)
    return Ported(
        name=name,
        fitting=len(first.parts) - len(accepted) - sum(not part.verdict.resolved for part in first.parts),
        accepted=tuple(f"{part.name}: {part.verdict.kind}: {_done(part)}" for part in accepted),
        left=tuple(f"{part.name}: {part.verdict.kind}: {part.verdict.evidence}" for part in left),
        marked=tuple(
            f"{part.name}: {part.verdict.kind}: {_blamed(part)}" for part in first.parts if part.verdict.kind in _MARKS
        ),
        problems=(*still, *map(str, last.problems)),
        changed=tuple(changed),
    )


def _blamed(part: PortedPart) -> str:
    return f"{part.verdict.evidence} by {part.commit}" if part.commit else part.verdict.evidence


def _done(part: PortedPart) -> str:
    return f"{part.verdict.proposal} {part.verdict.to or part.verdict.lead}".strip()


def _write(overlay: Overlay, choice: Choice, folder: Path) -> None:
    """Write both trees, and all else of the repository: its tests, and what they read."""
    tree = prepare(Loader([overlay], choice).load(overlay)).tree
    place = overlay.pin.place
    _put(folder / UPSTREAM, tree.upstream.entries, place, tree.before)
    _put(folder / PATCHED, tree.paths(), place, tree.after)
    _put(folder / BESIDE, tree.upstream.entries, lambda path: "" if place(path) else path, tree.before)


def _put(folder: Path, paths: Iterable[str], place: Callable[[str], str], read: Callable[[str], bytes | None]) -> None:
    for path in paths:
        placed, content = place(path), read(path)
        if placed and content is not None:
            (folder / placed).parent.mkdir(parents=True, exist_ok=True)
            (folder / placed).write_bytes(content)
