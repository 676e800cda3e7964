"""Owners: which runs an export holds, by the names that stand beside its rows or records, and which one is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError

# What the name of a run is called, in tables and histories; the first that is there counts.
_NAMES = ("run", "run_name", "run name", "run_id")


def owner_name(names: Iterable[str]) -> str:
    """Return which of the names is that of a run's name; empty where none is."""
    return _first_of(tuple(names))


@lru_cache(maxsize=256)  # a file has millions of records, and few sets of names
def _first_of(names: tuple[str, ...]) -> str:
    known = {name.lower().strip(): name for name in reversed(names)}
    return next((known[name] for name in _NAMES if name in known), "")


class Owners:
    """Sees whose each row is, one after the other.

    Args:
        wanted: the run whose rows are wanted; empty for all of them.

    Attributes:
        known: the runs that rows were of, in their order; a row without a name is of none.
        passed: whether a row was of another run than the wanted one.
    """

    def __init__(self, wanted: str) -> None:
        self._wanted, self.passed = wanted, False
        self.known: dict[str, None] = {}

    def wants(self, owner: str) -> bool:
        """Return whether a row of this run is wanted; empty where the row does not say of which it is."""
        if owner:
            self.known[owner] = None
        other = self._wanted not in {"", owner}
        self.passed |= other
        return not other

    def settle(self, file: Path, form: str) -> None:
        """End a file; see `refuse_others`."""
        refuse_others(file, form, self._wanted, list(self.known))


def refuse_others(file: Path, form: str, wanted: str, runs: Sequence[str]) -> None:
    """Refuse a file of several runs of which none was named, and a run that it does not have.

    Args:
        file: what holds the runs.
        form: what kind of file that is.
        wanted: the run that was named; empty for none.
        runs: those that it names.
    """
    if wanted and not runs:
        what = f"a {form} without names of runs holds one run, which has none"
        raise RecipeError(Problem(where=f"{file}#{wanted}", what=what, fix=f"name it as {file}"))
    if wanted not in runs and (wanted or len(runs) > 1):
        what = f"holds {'no run of that name; it has' if wanted else 'several runs:'} {', '.join(runs)}"
        where = f"{file}{wanted and f'#{wanted}'}"
        raise RecipeError(Problem(where=where, what=what, fix=f"name one: '{file}#{runs[0]}'"))
