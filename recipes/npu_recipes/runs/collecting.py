"""Collecting: values in the order they were logged → series, where each step stands once.

A run that is resumed from a checkpoint logs steps again, in the same log: from where the step goes back, what was
logged for later steps belongs to a past that the run has left, whether it reached those steps again or not. It has gone
back where it logs a metric again for a step that the metric was past; a late word on an earlier step is none of that.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np

from npu_recipes.runs.series import Series, Steps, Values

_SHOWN = 3
_WIDTH = 40
# Of so many records that each go back, the file is sorted the other way round; a run that was resumed goes on between.
_FALLING = 3
# Steps with several values: fewer come from runs that begin again, or log a step's end twice.
_CONTESTED = 3
_NONE = np.iinfo(np.int64).max


class _Samples:
    """The values of one metric as they came: compact, since a long run has millions of them."""

    def __init__(self) -> None:
        self.orders, self.steps, self.values = array("q"), array("q"), array("d")

    def add(self, order: int, step: int, value: float) -> None:
        self.orders.append(order)
        self.steps.append(step)
        self.values.append(value)

    def extend(self, later: _Samples, offset: int) -> None:
        self.orders.extend(order + offset for order in later.orders)
        self.steps.extend(later.steps)
        self.values.extend(later.values)


class Collector:
    """Takes records in the order they were logged, and each record's values."""

    def __init__(self) -> None:
        self._samples: dict[str, _Samples] = {}
        self._records = _Samples()
        # How many values of a metric are no numbers, and the first of them.
        self._passed: dict[str, tuple[int, str]] = {}
        self._order = 0
        self._step = 0
        # How far the run has come since it went back, and how many records are for an earlier step than the one before.
        self._reached = 0
        self._fallen = 0
        self._begun: int | None = None
        self._first: int | None = None
        # From which record on, to which step, and from which step the run went back.
        self._returns: list[tuple[int, int, int]] = []

    def record(self, step: int) -> None:
        """Begin a record: what is added from now on was logged for this step."""
        self._order += 1
        if self._order > 1 and step < self._step:
            self._fallen += 1
        self._step = step
        self._reached = max(self._reached, step) if self._order > 1 else step
        self._records.add(self._order, step, 0.0)
        self._begun = step if self._begun is None else self._begun
        self._first = step if self._first is None else min(step, self._first)

    def add(self, metric: str, value: float) -> None:
        """Add a value to the record that was begun last."""
        samples = self._samples.get(metric)
        if samples is None:
            samples = self._samples[metric] = _Samples()
        elif self._step < samples.steps[-1] and self._step < self._reached:
            self._returns.append((self._order, self._step, self._reached))
            self._reached = self._step
        samples.add(self._order, self._step, value)

    def pass_over(self, metric: str, value: object, where: str) -> None:
        """Count a value that is no number; `where` says in words where it stands."""
        count, first = self._passed.get(metric, (0, f"`{str(value)[:_WIDTH]}` {where}"))
        self._passed[metric] = count + 1, first

    def follow(self, later: Collector) -> None:
        """Add what a later file of the same run holds."""
        if later._begun is None or later._first is None or self._first is None:
            return
        offset = self._order
        if later._begun < self._reached:
            self._returns.append((offset + 1, later._begun, self._reached))
        self._returns += [(order + offset, back, last) for order, back, last in later._returns]
        self._order, self._step, self._reached = offset + later._order, later._step, later._reached
        self._fallen += later._fallen
        self._first = min(self._first, later._first)
        self._records.extend(later._records, offset)
        for metric, samples in later._samples.items():
            self._samples.setdefault(metric, _Samples()).extend(samples, offset)
        for metric, (more, first) in later._passed.items():
            count, earlier = self._passed.get(metric, (0, first))
            self._passed[metric] = count + more, earlier

    def __bool__(self) -> bool:
        return not all(map(self._is_text, self._samples))

    def series(self) -> dict[str, Series]:
        """Return every metric; of a step that was logged twice the later value."""
        return {name: self._cleared(samples) for name, samples in self._samples.items() if not self._is_text(name)}

    def records(self) -> Steps:
        """Return the steps of all records, those without a value among them."""
        return self._cleared(self._records).steps

    def unread(self) -> dict[str, str]:
        """Return in words why which metric cannot be told; a text among them, which has no series."""
        contested = {name: self._contested(samples) for name, samples in self._samples.items()}
        found = {name: [what] for name, what in contested.items() if what}
        for name, (count, first) in self._passed.items():
            found.setdefault(name, []).append(
                f"{count} of its values are no numbers and are left out, the first {first}"
            )
        return {name: "; ".join(said) for name, said in found.items()}

    def _contested(self, samples: _Samples) -> str:
        """Return in words that a metric has other values, too, at most of its steps; empty where it has not."""
        steps, values = self._kept(samples)
        if len(np.unique(steps)) == len(steps):  # as in most logs, whose values are many
            return ""
        unlike = np.unique(np.column_stack([steps, values.view(np.int64)]), axis=0)
        _, counts = np.unique(unlike[:, 0], return_counts=True)
        several = int((counts > 1).sum())
        if several < _CONTESTED or several * 2 <= len(counts):
            return ""
        what = f"{several} of its {len(counts)} steps have several values, as where two runs log at once"
        return f"{what}: the last ones count"

    def _is_text(self, metric: str) -> bool:
        """Return whether there is no number of it: between words, `None` is a word, too."""
        return metric in self._passed and not np.isfinite(self._samples[metric].values).any()

    @property
    def _falls(self) -> bool:
        return self._order >= _FALLING and self._fallen == self._order - 1

    def notes(self) -> Iterator[str]:
        """Yield in words what was left out."""
        yield from (
            f"{name}: {what}"
            for name, what in self.unread().items()
            if name in self._samples and not self._is_text(name)
        )
        if self._falls:
            yield "its steps fall from the first line to the last: it is sorted the other way round, and read so"
            return
        begun_again = [back for _, back, _ in self._returns if back == self._first]
        resumed = [(back, last) for _, back, last in self._returns if back != self._first]
        if begun_again:
            what = "begins" if len(begun_again) == 1 else f"begins {len(begun_again)} times"
            yield f"{what} again at step {self._first}: several runs in one log; only the last of them counts"
        if resumed:
            shown = ", ".join(f"from step {last} to {back}" for back, last in resumed[:_SHOWN])
            more = f" and {len(resumed) - _SHOWN} times more" if len(resumed) > _SHOWN else ""
            yield f"goes back {shown}{more}: it was resumed; what was logged for later steps before that is left out"
        if repeated := sum(self._repeated(samples) for samples in self._samples.values()):
            yield f"{repeated} values were logged twice for their step: the later ones count"

    def _cleared(self, samples: _Samples) -> Series:
        steps, values = self._kept(samples)
        # The first of each step, seen from the end, is the last that was logged.
        unique, index = np.unique(steps[::-1], return_index=True)
        return Series(steps=unique, values=values[::-1][index])

    def _repeated(self, samples: _Samples) -> int:
        steps, _ = self._kept(samples)
        return len(steps) - len(np.unique(steps))

    def _kept(self, samples: _Samples) -> tuple[Steps, Values]:
        """Return the steps and values that no later return of the run has left behind."""
        steps, values = np.array(samples.steps, dtype=np.int64), np.array(samples.values, dtype=np.float64)
        if not self._returns or self._falls:
            return steps, values
        since = np.array([order for order, _, _ in self._returns])
        back = np.array([step for _, step, _ in self._returns], dtype=np.int64)
        lowest = np.append(np.minimum.accumulate(back[::-1])[::-1], _NONE)
        keep = steps <= lowest[np.searchsorted(since, np.array(samples.orders), side="right")]
        return steps[keep], values[keep]
