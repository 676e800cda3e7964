"""Refresh steps: an overlay that a refresh has written → its lock, what a check finds, its revision, its wheels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from npu_overlays.authoring.refresh.placement import undone_on_failure
from npu_overlays.commands import build, check, lock, revise
from npu_overlays.errors import OverlayError, Problem
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.project import CONFIG_FILE, Layer, Overlay
from npu_overlays.overlay.revisions import REVISIONS_FILE
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.pipeline.lock_derivation import derive_lock

if TYPE_CHECKING:
    from npu_overlays.commands.console import Console

UNDONE = "the overlay and the work tree are as they were"


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The steps that were asked for, and what they need."""

    typed: tuple[str, ...]
    choice: Choice
    why: str
    out: Path

    @property
    def names(self) -> list[str]:
        """The steps to take, in order: each needs those before it, but a revision is only for the asking."""
        order = list(_STEPS)
        last = max(map(order.index, self.typed), default=-1)
        return [name for name in order[: last + 1] if name != "revise" or name in self.typed]


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """What a step gave, for people and for machines."""

    name: str
    report: Callable[[Console], None]
    json: object


def take(steps: Steps, overlay: Overlay, undo: ExitStack) -> list[StepResult]:
    """Take the steps, and return what each gave; raises `OverlayError`, which names the step.

    Args:
        steps: which.
        overlay: as it was before the refresh.
        undo: gives every file that a step writes its content back, where a later step fails.
    """
    results = []
    for name in steps.names:
        with _named(name, steps):
            results.append(_STEPS[name](load_overlay(overlay.folder), steps, undo))
    return results


@contextmanager
def _named(name: str, steps: Steps) -> Iterator[None]:
    """Make an error name the step that failed, what is written, and how to continue."""
    try:
        yield
    except OverlayError as error:
        order = list(_STEPS)
        later = [f"--{one}" for one in order[order.index(name) :] if one in steps.typed]
        what = f"the step `{name}` failed, so nothing was written: {UNDONE}"
        fix = f"correct the errors above and run it again; without {' '.join(later)} the overlay is written, to edit"
        raise type(error)([*error.problems, Problem(where="npu-overlays refresh", what=what, fix=fix)]) from error


def _lock(overlay: Overlay, steps: Steps, undo: ExitStack) -> StepResult:
    derived = derive_lock(overlay, steps.choice)
    _undo(undo, overlay, LOCK_FILE)
    changed = lock.write(derived)
    json = {"written": changed, "contracts": len(derived.lock.contracts), "notices": list(derived.notices)}
    return StepResult(name="lock", report=partial(lock.report, derived=derived, changed=changed), json=json)


def _check(overlay: Overlay, steps: Steps, undo: ExitStack) -> StepResult:  # noqa: ARG001  # writes nothing
    found = check.check([overlay], steps.choice)
    check.refuse(found)
    return StepResult(name="check", report=partial(check.report, found=found), json=check.as_json(found))


def _revise(overlay: Overlay, steps: Steps, undo: ExitStack) -> StepResult:
    planned = revise.planned_revisions(revise.changed([overlay]))
    for one in planned:
        _undo(undo, one.overlay, CONFIG_FILE, REVISIONS_FILE)
    revise.revise(planned, steps.why)
    json = list(map(revise.as_json, planned))
    return StepResult(name="revise", report=partial(revise.report, planned=planned), json=json)


def _build(overlay: Overlay, steps: Steps, undo: ExitStack) -> StepResult:  # noqa: ARG001  # writes all or nothing
    from npu_overlays.wheels.batch_build import BuildPolicy, build_all  # noqa: PLC0415  # hatchling takes a fifth of a second

    outcomes = build_all([overlay], steps.choice, steps.out, BuildPolicy())
    json = list(map(build.as_json, outcomes))
    return StepResult(name="build", report=partial(build.report, outcomes=outcomes), json=json)


def _undo(undo: ExitStack, overlay: Overlay, *paths: str) -> None:
    own: Layer = overlay.chain[-1]
    undo.enter_context(undone_on_failure([(own, path) for path in paths], state=UNDONE))


_STEPS: Mapping[str, Callable[[Overlay, Steps, ExitStack], StepResult]] = {
    "lock": _lock,
    "check": _check,
    "revise": _revise,
    "build": _build,
}
