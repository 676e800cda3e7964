"""Errors: every failure a user can cause is a `RecipeError` that lists all its problems."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One mistake."""

    where: str  # file, line, option or key
    what: str  # what is wrong there
    fix: str = ""  # what to do about it, as an instruction

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f"\n    fix: {self.fix}" if self.fix else "")


class RecipeError(Exception):
    """Base of all errors a user can cause or cure; carries every problem found, not just the first."""

    exit_code: ClassVar[int] = 2

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


def lacking(error: ModuleNotFoundError) -> Problem:
    """Return the problem that a module is missing, with the command that installs it."""
    what = f"the module {(error.name or str(error)).partition('.')[0]} is not installed"
    fix = f"{sys.executable} -m pip install npu-recipes, which installs everything that is missing"
    return Problem(where="npu-recipes", what=what, fix=fix)


def listed(names: Sequence[str], most: int) -> str:
    """Return names for a message: the first `most`, and where there are more, how many there are in all."""
    more = f", … ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + more
