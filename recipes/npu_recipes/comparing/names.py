"""Names: metrics of two groups of runs → the same, where one side alone has ``_`` for ``/``.

So does who puts a metric's name into that of a file, as TensorBoard's page does with what it exports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from npu_recipes.runs.series import Run


def names_of(runs: Sequence[Run]) -> dict[str, None]:
    """Return the metrics that any of the runs has, in their order."""
    return dict.fromkeys(name for run in runs for name in run.metrics)


def named_alike(runs: Sequence[Run], others: Sequence[Run]) -> list[Run]:
    """Return runs under the names that the others have for their metrics, with a note where these are not their own."""
    ours, theirs = names_of(runs), names_of(others)
    plain: dict[str, list[str]] = {}
    for name in theirs:
        if name not in ours:
            plain.setdefault(name.replace("/", "_"), []).append(name)
    known = {flat: names[0] for flat, names in plain.items() if len(names) == 1 and flat in ours and flat not in theirs}
    return [_renamed(run, known) for run in runs]


def _renamed(run: Run, known: Mapping[str, str]) -> Run:
    own = {name: known[name] for name in (*run.metrics, *run.unread) if name in known}
    return replace(
        run,
        metrics={own.get(name, name): series for name, series in run.metrics.items()},
        unread={own.get(name, name): what for name, what in run.unread.items()},
        notes=(*run.notes, *(f"its {name} is taken for {other}" for name, other in own.items())),
    )
