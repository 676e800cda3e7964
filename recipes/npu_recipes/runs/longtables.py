"""Long tables: lines of one value each, in the order they stand → a collector.

Their lines are as they were logged, or sorted by metric, each of which begins where the last one ended: nothing was
resumed there, and where one of them goes back, the others may not have come so far yet.
"""

from __future__ import annotations

from collections.abc import Sequence

from npu_recipes.runs.collecting import Collector

# A step, a metric, and its value there if there is any.
Stated = tuple[int, str, float | None]


def take_long(stated: Sequence[Stated], collector: Collector) -> None:
    """Take the lines of a table."""
    if _in_time(stated):
        _take(stated, collector)
        return
    metrics: dict[str, list[Stated]] = {}
    for line in stated:
        metrics.setdefault(line[1], []).append(line)
    collector.beside([_alone(lines) for lines in metrics.values()])


def _in_time(stated: Sequence[Stated]) -> bool:
    """Return whether lines stand as they were logged: where they go back, the metric that is there does, too."""
    reached: dict[str, int] = {}
    before = stated[0][0] if stated else 0
    for step, metric, _ in stated:
        if step < before and reached.get(metric, step) <= step:
            return False
        before = reached[metric] = step
    return True


def _alone(lines: Sequence[Stated]) -> Collector:
    own = Collector()
    _take(lines, own)
    own.settle(in_time=False)
    return own


def _take(lines: Sequence[Stated], collector: Collector) -> None:
    begun: int | None = None
    for step, metric, value in lines:
        if step != begun:
            collector.record(step)
        begun = step
        if value is not None:
            collector.add(metric, value)
