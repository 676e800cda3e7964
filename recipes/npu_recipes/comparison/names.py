"""Names: metrics of two groups of runs → the same, and those of limits.

Some have ``_`` for ``/``, as TensorBoard's page has it in the names of files that it exports; and each trainer has its
own word for the loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from npu_recipes.comparison.limits import EVALUATED, TRAINED, Limit
from npu_recipes.runs.series import Run

# What trainers call the same; trl's reward is verl's before any penalty.
_SAME = (
    TRAINED,
    EVALUATED,
    ("critic/score/mean", "grpo/score/mean", "reward", "train/reward"),
    ("critic/rewards/mean", "grpo/rewards/mean"),
    ("train/lr", "actor/lr", "train/learning_rate", "learning_rate", "learning rate", "learning-rate", "lr"),
    ("train/grad_norm", "actor/grad_norm", "grad_norm", "grad norm", "grad-norm"),
)


def names_of(runs: Sequence[Run]) -> dict[str, None]:
    """Return the metrics that any of the runs has, in their order."""
    return dict.fromkeys(chain.from_iterable(run.metrics for run in runs))


def named_alike(runs: Sequence[Run], others: Sequence[Run]) -> list[Run]:
    """Return runs under the names that the others have for their metrics, with a note where these are not their own."""
    ours, theirs = names_of(runs), names_of(others)
    flat = _flat(name for name in theirs if name not in ours)
    known = {name: other for name, other in flat.items() if name in ours and name not in theirs}
    return _renamed(runs, known)


def named_the_same(runs: Sequence[Run], others: Sequence[Run]) -> list[Run]:
    """Return runs under the names that other trainers have for the same metrics, with a note.

    Where one side has several of these names, nobody can tell which of them is meant.
    """
    ours, theirs = names_of(runs), names_of(others)
    known = {}
    for same in _SAME:
        own = [name for name in same if name in ours]
        other = [name for name in same if name in theirs]
        if len(own) == len(other) == 1 and own != other:
            known[own[0]] = other[0]
    return _renamed(runs, known)


def named_as_limits(runs: Sequence[Run], others: Sequence[Run], limits: Sequence[Limit]) -> list[Run]:
    """Return runs under the names of limits that would fit none of their metrics, nor of the others', with a note."""
    names = names_of((*runs, *others))
    known: dict[str, str] = {}
    for name, pattern in _flat(dict.fromkeys(limit.pattern for limit in limits if limit.pattern not in names)).items():
        if not any(limit.fits(name) for limit in limits):
            known[name] = pattern
    return _renamed(runs, known)


def _flat(names: Iterable[str]) -> dict[str, str]:
    """Return names by what they are with ``_`` for ``/``, where that is another one and of no two the same."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.replace("/", "_"), []).append(name)
    return {flat: same[0] for flat, same in found.items() if len(same) == 1 and flat != same[0]}


def _renamed(runs: Sequence[Run], known: Mapping[str, str]) -> list[Run]:
    """Return runs whose metrics have other names where these are known, with a note on each."""
    found = []
    for run in runs:
        own = {name: known[name] for name in (*run.metrics, *run.unread) if name in known}
        metrics = {own.get(name, name): series for name, series in run.metrics.items()}
        unread = {own.get(name, name): what for name, what in run.unread.items()}
        notes = [f"its {name} is taken for {other}" for name, other in own.items()]
        found.append(replace(run, metrics=metrics, unread=unread, notes=(*run.notes, *notes)))
    return found
