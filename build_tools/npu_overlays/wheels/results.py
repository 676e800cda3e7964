"""Results: the outcomes of building an overlay and of checking a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from npu_overlays.errors import OverlayError, Problem
from npu_summary.changes import Changes
from npu_summary.provenance import in_development


@dataclass(frozen=True, kw_only=True)
class BuiltWheels:
    """The files of one overlay."""

    overlay: str  # name of the overlay
    argument: str  # what names it on a command line
    wheel: Path  # the patched distribution
    companion: Path  # the empty distribution under upstream's name that goes with it
    sha256: str  # of the wheel, hex
    record: Changes  # the content of the wheel's `changes.json`
    rebuilt: bool  # False where the files were there already, made from the same inputs
    seconds: float  # how long it took
    # versions of development builds in whose place it has come, and which installers take for newer
    instead_of: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()  # what to know of them, in sentences; none of files that were there already

    @property
    def development(self) -> bool:
        """Whether it is a development build, and no revision."""
        return in_development(self.record)

    @property
    def state(self) -> str:
        """The outcome, in a word or two."""
        return "built" if self.rebuilt else "up to date"


@dataclass(frozen=True, kw_only=True)
class FailedBuild:
    """An overlay that cannot be built."""

    overlay: str  # its name
    error: OverlayError  # why
    seconds: float = 0.0  # how long it took to find out

    @property
    def state(self) -> str:
        """The outcome, in a word."""
        return "failed"


BuildOutcome: TypeAlias = BuiltWheels | FailedBuild


@dataclass(frozen=True, kw_only=True)
class Verified:
    """One wheel, statement or constraints file that was looked at."""

    wheel: Path  # the file
    name: str  # its distribution
    version: str  # its version
    files: int  # how many files it holds
    kind: str  # `patched`, `companion` for the one under upstream's name, `doctor`, `recipes` or `statement`
    problems: tuple[Problem, ...]  # what is wrong with it
    made: str = ""  # of a patched one, which upstream it was made of, and from what bytes
    # the files of its metadata that RECORD alone vouches for; none if a statement beside it names its very bytes
    unproven: tuple[str, ...] = ()
