"""Bisect: runs a command on parts of an overlay until no operation can be left out without it passing."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from npu_overlays.authoring.bisect.dependencies import needed
from npu_overlays.authoring.checkout.units import Unit, only, units_of
from npu_overlays.checks.patched_tree import apply_overlay
from npu_overlays.contracts.overlay_code import OverlayCode
from npu_overlays.errors import MergeError, Problem, UsageError, listing
from npu_overlays.merge.apply import merge_overlay
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.progress import step
from npu_overlays.sources.tree import PatchedTree

FOLDER = "NPU_OVERLAYS_CHECKOUT"
# As `git bisect run` reads exit codes.
_CANNOT_TELL = 125
_NOT_RUN = (126, 127)
# How many characters of a command's output are shown, and how many are compared, from its end.
_SHOWN = 2000
_KEPT = 100_000
# The last lines of a traceback: the error, and where it was raised.
_LAST = 3
# Times, counts, addresses: different in each run.
_NUMBER = re.compile(r"\S*\d\S*")
# The line in which pytest says how many tests failed, and not how.
_COUNTS = re.compile(r"\b\d+ (?:failed|passed|errors?)\b")


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """How a command ended."""

    code: int  # its exit code; below 0 the signal that ended it
    output: str  # the end of its output

    @property
    def shown(self) -> str:
        """As much of the output as is shown."""
        return self.output[-_SHOWN:]

    def is_like(self, other: RunResult) -> bool:
        """Return whether two runs failed alike: with one exit code, and the other printed this one's last lines too.

        Where more fails, they may have been printed earlier.
        """
        return self.code == other.code and set(self.lines[-_LAST:]) <= set(other.lines)

    @cached_property
    def lines(self) -> list[str]:
        """The lines that show how it ended, without their numbers."""
        found: list[str] = []
        for line in self.output.splitlines():
            text = _NUMBER.sub("0", line).strip()
            if not _COUNTS.search(line) and re.search(r"[^\W\d]", text):
                found.append(text)
        return found


class Trial:
    """Runs a command on parts of an overlay, in a folder that is not there yet and has one of its own around it."""

    def __init__(self, folder: Path, subject: AppliedInput, command: Sequence[str]) -> None:
        self._folder = folder
        self._subject = subject
        self._command = list(command)
        # All units of the overlay.
        self.units = units_of(subject.content)
        applied = merge_overlay(subject.content, subject.tree, absent=subject.absent)
        code = OverlayCode(subject.content, applied)
        self._needed = needed(self.units, code, subject.content.overlay.pin)
        self._codes: dict[frozenset[int], int | None] = {}
        self._outputs: dict[frozenset[int], str] = {}
        # How often the command was run.
        self.runs = 0

    def with_needed(self, numbers: Iterable[int]) -> frozenset[int]:
        """Return units, by number, with those they need."""
        return frozenset().union(*(self._needed[number] for number in numbers))

    def code(self, numbers: Iterable[int]) -> int | None:
        """Return the command's exit code with some units and what they need; None if it cannot be told."""
        chosen = self.with_needed(numbers)
        if chosen not in self._codes:
            self._codes[chosen] = self._run_with(chosen)
        return self._codes[chosen]

    def result(self, numbers: Iterable[int]) -> RunResult:
        """Return how the command ended with some units and what they need, with which it was run."""
        chosen = self.with_needed(numbers)
        return RunResult(code=self._codes[chosen] or 0, output=self._outputs.get(chosen, ""))

    def fails_again(self, numbers: Iterable[int]) -> bool:
        """Return whether the command fails with some units and what they need when it is run once more."""
        return bool(self._run_with(self.with_needed(numbers)))

    def _run_with(self, chosen: frozenset[int]) -> int | None:
        step(f"{len(chosen)} of {len(self.units)}, run {self.runs + 1}")
        part = only(self._subject.content, [self.units[number] for number in sorted(chosen)])
        try:
            applied = apply_overlay(part, self._subject.tree, absent=self._subject.absent)
        except MergeError:
            return None
        hold(self._folder, applied.tree)
        code, output = self._run()
        self.runs += 1
        self._outputs[chosen] = output
        return None if code == _CANNOT_TELL else code

    def _run(self) -> tuple[int, str]:
        """Run the command in the folder, and return its exit code and the end of its output."""
        roots = dict.fromkeys(path[: -len(home)] for path, home in self._subject.content.overlay.pin.homes)
        paths = [str(self._folder / root) for root in roots]
        if inherited := os.environ.get("PYTHONPATH"):
            paths.append(inherited)
        # Files are exchanged faster than Python's caches of them can tell by their times.
        own = {FOLDER: str(self._folder), "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                self._command,
                cwd=self._folder,
                env={**os.environ, **own},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        except OSError as error:
            raise self._not_run(str(error.strerror or error)) from error
        output = done.stdout.decode(errors="replace")
        if done.returncode in _NOT_RUN:
            raise self._not_run(f"exit code {done.returncode}: {output.strip()[-_SHOWN:]}")
        return done.returncode, output[-_KEPT:]

    def _not_run(self, what: str) -> UsageError:
        fix = "name a command that can, behind --"
        return UsageError(Problem(where=self._command[0], what=f"cannot be run: {what}", fix=fix))


def hold(folder: Path, tree: PatchedTree) -> None:
    """Restore a folder to a tree after a command ran in it; no link is followed out of it."""
    # Its end removes what nobody may write, too.
    with tempfile.TemporaryDirectory(dir=folder.parent) as gone, suppress(FileNotFoundError):
        folder.rename(Path(gone) / "before")
    tree.unpack(folder)


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
        MergeError: the overlay does not fit upstream.
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
        fix = f"name a command that fails, with another code than 125; it runs in a folder like a checkout (${FOLDER})"
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
