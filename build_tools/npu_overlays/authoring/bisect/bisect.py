"""Bisect: runs a command on parts of an overlay until no operation can be left out without it passing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from npu_overlays.authoring.bisect.trial import FOLDER, RunResult, Trial
from npu_overlays.authoring.checkout.units import Unit
from npu_overlays.errors import Problem, UsageError, listing
from npu_overlays.pipeline.preparation import AppliedInput

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class BisectResult:
    """What was found."""

    units: tuple[Unit, ...]  # the fewest units with which the command fails, those among them that the others need
    runs: int  # how often the command was run
    # How it ends with these units, and with the whole overlay.
    ending: RunResult
    whole: RunResult

    @property
    def is_other(self) -> bool:
        """Whether the command fails with these units in another way than with the whole overlay."""
        return not self.ending.is_like(self.whole)


def bisect(subject: AppliedInput, command: Sequence[str]) -> BisectResult:
    """Return the fewest operations of an overlay that make a command fail.

    Args:
        subject: the overlay and its upstream.
        command: what to run, in a folder that holds upstream with some of the operations.

    Raises:
        UsageError: the command cannot be run, does not fail with all of them, fails without any, or ends differently
            when it is run again.
    """
    with tempfile.TemporaryDirectory(prefix="npu-overlays-bisect-") as place:
        trial = Trial(Path(place) / "checkout", subject, command)
        everything = range(len(trial.units))
        _check(trial, everything)
        found = trial.with_needed(smallest(everything, lambda part: bool(trial.code(part))))
        _check_again(trial, found)
        return BisectResult(
            units=tuple(trial.units[number] for number in sorted(found)),
            runs=trial.runs,
            ending=trial.result(found),
            whole=trial.result(everything),
        )


def smallest(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return a minimal part of the items that fails: without any single item it passes (delta debugging).

    Args:
        items: all of them, which fail together; without any of them nothing fails.
        fails: returns whether a part fails, in the order of `items`; never called with an empty part.
    """
    current, parts = list(items), 2
    while len(current) > 1:
        chunks = _chunks(current, parts)
        tried = list(chunks)
        if parts > 2:  # noqa: PLR2004  # of two parts, each is the other's rest
            for chunk in chunks:
                tried.append([one for one in current if one not in chunk])
        found = next(filter(fails, tried), None)
        if found is not None:
            parts = 2 if found in chunks else max(parts - 1, 2)
            current = found
        elif parts >= len(current):
            break
        else:
            parts = min(2 * parts, len(current))
    return current


def _chunks(items: Sequence[T], parts: int) -> list[list[T]]:
    chunks: list[list[T]] = []
    start = 0
    for number in range(parts):
        end = start + (len(items) - start) // (parts - number)
        chunks.append(list(items[start:end]))
        start = end
    return chunks


def _check(trial: Trial, everything: Iterable[int]) -> None:
    """Refuse a command that does not fail with the whole overlay, or fails without any of it."""
    code = trial.code(everything)
    if not code:
        what = "does not fail with the whole overlay" if code == 0 else "cannot tell, with the whole overlay"
        fix = f"it is run in a folder like a checkout (${FOLDER}), and is to end with another code than 0 and 125"
        raise UsageError(Problem(where="the command", what=what, fix=fix))
    if trial.code(()) != 0:
        what, fix = "fails on upstream itself, without any operation", "see that it finds all it needs there"
        said = trial.result(()).output.strip().splitlines()[-1:]
        raise UsageError(Problem(where="the command", what=": ".join([what, *said]), fix=fix))


def _check_again(trial: Trial, found: frozenset[int]) -> None:
    """Refuse a command that does not end the same way each time: what was found with it says nothing."""
    targets: list[str] = []
    for number in sorted(found):
        targets += trial.units[number].targets
    if not trial.fails_again(found):
        what = f"failed with {listing(targets)}, and does not when it is run again"
    elif trial.fails_again(()):
        what = f"was found to fail with {listing(targets)}"
        what += "; run again on upstream itself, without any operation, it fails too"
    else:
        return
    fix = "see that it depends on nothing else: chance, time, or what it left elsewhere"
    raise UsageError(Problem(where="the command", what=what, fix=fix))
