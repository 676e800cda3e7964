"""Errors: every failure a user can cause is an `OverlayError` that lists all its problems.

A `Problem` says what is wrong, where, and what to do next. Each family of
errors has its own exit code, documented in ``npu-overlays --help``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One mistake."""

    # file, configuration key or symbol, e.g. ``overlays/verl@796871d/pyproject.toml: tool.overlay.revision``.
    where: str
    what: str  # what is wrong there
    fix: str = ""  # what to do about it, as an instruction
    targets: tuple[str, ...] = ()  # the symbols it strikes, where one place in an overlay speaks of several
    # what makes the command line right that was typed, in pairs: an option and its value, or a word of it and the one
    # to write instead
    options: tuple[tuple[str, str], ...] = ()

    def as_json(self) -> dict[str, str]:
        """Return it as JSON, without its targets."""
        return {"where": self.where, "what": self.what, "fix": self.fix}

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}", *(f"    in {target}" for target in self.targets)]
        return "\n".join([*lines, f"    fix: {self.fix}"] if self.fix else lines)


def by_cause(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems with one for each cause: those that differ in their targets alone become one."""
    found: dict[Problem, list[str]] = {}
    for problem in problems:
        found.setdefault(replace(problem, targets=()), []).extend(problem.targets)
    return [replace(cause, targets=tuple(dict.fromkeys(targets))) for cause, targets in found.items()]


def listing(items: Iterable[str], limit: int = 10) -> str:
    """Return the items comma-separated: the first `limit`, and how many there are if that is not all."""
    everything = list(items)
    shown = ", ".join(everything[:limit])
    return shown if len(everything) <= limit else f"{shown}, … ({len(everything)} in all)"


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the known name that is most similar to another, for a hint; empty if none is similar enough."""
    close = difflib.get_close_matches(name, [*known], n=1, cutoff=cutoff)
    return close[0] if close else ""


def suggestion(close: str, otherwise: str) -> str:
    """Return what to do about an unknown name: the known one that is meant, or else what helps without one."""
    return f"did you mean `{close}`?" if close else otherwise


class OverlayError(Exception):
    """Base of all errors a user can cause or cure; carries every problem found, not just the first."""

    exit_code: ClassVar[int] = 1

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))

    @classmethod
    def raise_for(cls, problems: Iterable[Problem]) -> None:
        """Raise this error with several problems; nothing happens where there are none."""
        if found := tuple(problems):
            raise cls(found)

    def __reduce__(self) -> tuple[type[OverlayError], tuple[tuple[Problem, ...]]]:
        """Pickle the error with its problems; by default only its text would arrive."""
        return type(self), (self.problems,)


@contextmanager
def collected(problems: list[Problem], kind: type[OverlayError] = OverlayError) -> Iterator[None]:
    """Add the problems of an error of a kind that the block raises to others, instead of ending with it."""
    try:
        yield
    except kind as error:
        problems += error.problems


class UsageError(OverlayError):
    """The command line, or a variable that stands for one of its options, is wrong."""

    exit_code = 2


class ConfigError(OverlayError):
    """An overlay's ``pyproject.toml``, the stacks file or a command-line name is wrong."""

    exit_code = 3


class SourceError(OverlayError):
    """The pinned upstream could not be acquired, or is not what the pin says."""

    exit_code = 4


class MergeError(OverlayError):
    """The overlay does not fit the upstream source: symbols, contracts, patches, the static gate."""

    exit_code = 5


class OutputError(OverlayError):
    """The result could not be written, or a file given as input is not a wheel of ours."""

    exit_code = 6
