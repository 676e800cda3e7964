"""Bisecting: an overlay and a command that fails with it → the fewest of its operations with which it still fails."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.checkout.ending import KEPT, SHOWN, Ending
from npu_overlays.checkout.needing import needed
from npu_overlays.checkout.reducing import smallest
from npu_overlays.checkout.units import Unit, only, units_of
from npu_overlays.checkout.workplace import Workplace
from npu_overlays.errors import MergeError, Problem, UsageError, listing
from npu_overlays.merging.apply import apply_overlay
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.progress import step

FOLDER = "NPU_OVERLAYS_CHECKOUT"
# As `git bisect run` reads exit codes.
_CANNOT_TELL = 125
_NOT_RUN = (126, 127)


@dataclass(frozen=True, kw_only=True)
class Bisected:
    """What was found.

    Args:
        units: the fewest with which the command fails, those among them that the others need.
        runs: how often the command was run.
        ending: how it ends with these.
        whole: how it ends with the whole overlay.
    """

    units: tuple[Unit, ...]
    runs: int
    ending: Ending
    whole: Ending

    @property
    def is_other(self) -> bool:
        """Whether the command fails with these otherwise than with the whole overlay."""
        return not self.ending.is_like(self.whole)


class Trial:
    """A folder in which the command is run on parts of an overlay.

    Args:
        folder: an empty one.
        subject: the overlay and its upstream.
        command: the command.
    """

    def __init__(self, folder: Path, subject: AppliedInput, command: Sequence[str]) -> None:
        self._folder = folder
        self._subject = subject
        self._command = list(command)
        self._units = units_of(subject.content)
        self._needed = needed(self._units, subject.content.overlay.pin)
        self._place = Workplace(folder)
        self._known: dict[frozenset[int], int | None] = {}
        self._outputs: dict[frozenset[int], str] = {}
        # How often the command was run.
        self.runs = 0

    @property
    def units(self) -> tuple[Unit, ...]:
        """Everything the overlay says."""
        return self._units

    def whole(self, numbers: Iterable[int]) -> frozenset[int]:
        """Return units with those they need."""
        return frozenset(one for number in numbers for one in self._needed[number])

    def code(self, numbers: Iterable[int]) -> int | None:
        """Return the command's exit code with some units and what they need; None where nothing can be told of them."""
        chosen = self.whole(numbers)
        if chosen not in self._known:
            self._known[chosen] = self._tried(chosen)
        return self._known[chosen]

    def ending(self, numbers: Iterable[int]) -> Ending:
        """Return how the command ended with some units and what they need, with which it was run."""
        chosen = self.whole(numbers)
        return Ending(code=self._known[chosen] or 0, output=self._outputs.get(chosen, ""))

    def fails_again(self, numbers: Iterable[int]) -> bool:
        """Return whether the command fails with some units and what they need when it is run once more."""
        return bool(self._tried(self.whole(numbers)))

    def _tried(self, chosen: frozenset[int]) -> int | None:
        step(f"{len(chosen)} of {len(self._units)}, run {self.runs + 1}")
        units = [self._units[number] for number in sorted(chosen)]
        try:
            applied = apply_overlay(only(self._subject.content, units), self._subject.tree, absent=self._subject.absent)
        except MergeError:
            return None
        self._place.hold(applied.tree)
        code, output = self._run()
        self.runs += 1
        self._outputs[chosen] = output
        return None if code == _CANNOT_TELL else code

    def _run(self) -> tuple[int, str]:
        roots = dict.fromkeys(path[: -len(home)] for path, home in self._subject.content.overlay.pin.homes)
        paths = [str(self._folder / root) for root in roots]
        paths += [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
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
            raise _not_run(self._command, str(error.strerror or error)) from error
        output = done.stdout.decode(errors="replace")
        if done.returncode in _NOT_RUN:
            raise _not_run(self._command, f"exit code {done.returncode}: {output.strip()[-SHOWN:]}")
        return done.returncode, output[-KEPT:]


def _not_run(command: Sequence[str], what: str) -> UsageError:
    return UsageError(
        Problem(where=command[0], what=f"cannot be run: {what}", fix="name a command that can, behind --")
    )


def bisect(subject: AppliedInput, command: Sequence[str]) -> Bisected:
    """Return the fewest operations of an overlay that make a command fail.

    Args:
        subject: the overlay and its upstream.
        command: what to run, in a folder that holds upstream with some of the operations.

    Raises:
        UsageError: the command cannot be run, does not fail with all of them, fails without any, or ends otherwise when
            it is run again.
    """
    with tempfile.TemporaryDirectory(prefix="npu-overlays-bisect-") as place:
        trial = Trial(Path(place), subject, command)
        everything = range(len(trial.units))
        _check(trial, everything)
        found = trial.whole(smallest(everything, lambda part: bool(trial.code(part))))
        _check_again(trial, found)
        return Bisected(
            units=tuple(trial.units[number] for number in sorted(found)),
            runs=trial.runs,
            ending=trial.ending(found),
            whole=trial.ending(everything),
        )


def _check(trial: Trial, everything: Iterable[int]) -> None:
    code = trial.code(everything)
    if not code:
        what = "does not fail with the whole overlay" if code == 0 else "cannot tell, with the whole overlay"
        fix = f"it is run in a folder like a checkout (${FOLDER}), and is to end with another code than 0 and 125"
        raise UsageError(Problem(where="the command", what=what, fix=fix))
    if trial.code(()) != 0:
        what, fix = "fails on upstream itself, without any operation", "see that it finds all it needs there"
        said = trial.ending(()).output.strip().splitlines()[-1:]
        raise UsageError(Problem(where="the command", what=": ".join([what, *said]), fix=fix))


def _check_again(trial: Trial, found: frozenset[int]) -> None:
    """Refuse a command that ends now so and now so: what was found with it says nothing."""
    named = listing(target for number in sorted(found) for target in trial.units[number].targets)
    if not trial.fails_again(found):
        what = f"failed with {named}, and does not when it is run again"
    elif trial.fails_again(()):
        what = f"was found to fail with {named}; run again on upstream itself, without any operation, it fails too"
    else:
        return
    fix = "see that it depends on nothing else: chance, time, or what it left elsewhere"
    raise UsageError(Problem(where="the command", what=what, fix=fix))
