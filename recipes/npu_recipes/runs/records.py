"""Records: dictionaries with a step, metrics, and the name of a run, as loggers and exports have them → a collector."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.runs.collector import Collector

# numpy 2 writes its numbers so where they are printed by `repr`, as verl's console logger does.
_WRAPPED = re.compile(r"(?:(?:np|numpy)\.\w+|tensor)\(([^,()]*)(?:,.*)?\)")
# Beyond it, floats are not exact: what stands there is no step.
LARGEST = 2**53
_WORDS = {"True": 1.0, "False": 0.0, "true": 1.0, "false": 0.0}


def number(text: str) -> float | None:
    """Return the number that a text is; None where it is none."""
    try:
        return float(text)
    except ValueError:
        pass
    wrapped = _WRAPPED.fullmatch(text)
    return number(wrapped[1]) if wrapped else _WORDS.get(text)


def whole(text: str) -> int | None:
    """Return the step that a text is, ``12`` or ``12.0``; None where it is none."""
    value = number(text)
    return int(value) if value is not None and value.is_integer() and abs(value) < LARGEST else None


# What the name of a run is called, in tables and histories; the first that is there counts.
_NAMES = ("run", "run_name", "run name", "run_id")


def owner_name(names: Iterable[str]) -> str:
    """Return which of the names is that of a run's name; empty where none is."""
    return _first_of(_NAMES, tuple(names))


@lru_cache(maxsize=256)  # a file has millions of records, and few sets of names
def _first_of(wanted: tuple[str, ...], names: tuple[str, ...]) -> str:
    known = {name.lower().strip(): name for name in reversed(names)}
    return next((known[name] for name in wanted if name in known), "")


class Owners:
    """Notes the run of each row, one after the other.

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
        """Return whether a row of this run is wanted; `owner` is empty where the row names no run."""
        if owner:
            self.known[owner] = None
        other = self._wanted not in {"", owner}
        self.passed |= other
        return not other

    def settle(self, file: Path, form: str) -> None:
        """End a file; see `refuse_others`."""
        refuse_others(file, form, self._wanted, list(self.known))


def refuse_others(file: Path, form: str, wanted: str, runs: Sequence[str]) -> None:
    """Refuse a file of several runs if none was named, and a run that the file does not have.

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


# What a step is called, by trainers, by wandb and in tables; the first that is there counts. wandb numbers what it was
# given, and the Trainer gives it several records a step.
STEPS = (
    "step",
    "train/global_step",
    "_step",
    "global_step",
    "training/global_step",
    "trainer/global_step",
    "global_step/max_steps",
    "current_steps",
    "global_steps",
    "iteration",
    "iter",
)
_SUMMARY = {"train_runtime", "train_samples_per_second", "train_loss"}
# ms-swift has how many there will be behind it.
_OF_ALL = re.compile(r"(\d{1,15}) ?/ ?\d+")


def step_name(names: Iterable[str]) -> str:
    """Return which of the names is the step; empty where none is."""
    return _first_of(STEPS, tuple(names))


def step_of(value: object) -> int | None:
    """Return the step that a value is; None where it is none."""
    if isinstance(value, str):
        of_all = _OF_ALL.fullmatch(value)
        value = number(of_all[1] if of_all else value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if abs(value) < LARGEST and value == int(value) else None


def is_summary(record: Mapping[str, object]) -> bool:
    """Return whether a record sums up a training at its end, as the Trainer's and ms-swift's: it is of no step."""
    return "log_history" in record or ("loss" not in record and record.keys() >= _SUMMARY)


def without_step(places: Sequence[str]) -> list[str]:
    """Return in words that the records at these places have no step; nothing where there are none."""
    return [f"{len(places)} records have no step and are left out, the first in {places[0]}"] if places else []


def take(record: Mapping[str, object], step: int, collector: Collector, *, null_is_nan: bool) -> bool:
    """Take a record's numbers; returns whether one of them was a null that stands for NaN or infinity.

    Args:
        record: names with values of any kind; what is no number is counted, and what wandb adds itself passed over.
        step: the record's.
        collector: what takes them.
        null_is_nan: whether a null is a value that JSON cannot hold, or one that was not logged.
    """
    collector.record(step)
    nulls = False
    for name, value in record.items():
        if value is None and null_is_nan:
            nulls = True
            collector.add(name, math.nan)
        elif value is None or name.startswith("_"):
            continue
        elif (known := _known(value)) is not None:
            collector.add(name, known)
        else:
            collector.pass_over(name, value, f"at step {step}")
    return nulls


def _known(value: object) -> float | None:
    if isinstance(value, str):  # newer trainers write numbers so, and wandb those that JSON cannot hold
        return number(value)
    if not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all floats
        return math.inf if value > 0 else -math.inf
