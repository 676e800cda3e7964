"""Records: dictionaries with a step and metrics, as loggers and exports have them → a collector."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from npu_recipes.runs.collecting import Collector
from npu_recipes.runs.numbers import LARGEST, number

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
    return _first_of(tuple(names))


@lru_cache(maxsize=256)  # a file has millions of records, and few sets of names
def _first_of(names: tuple[str, ...]) -> str:
    known = {name.lower().strip(): name for name in reversed(names)}
    return next((known[name] for name in STEPS if name in known), "")


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
    return _float(value) if isinstance(value, (int, float)) else None


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all floats
        return math.inf if value > 0 else -math.inf
