"""Collector: values in the order they were logged → series, where each step stands once.

A run has gone back if it logs a metric again for a step that the metric was past. A value that is logged late for an
earlier step is no return. A run that is resumed from a checkpoint logs steps again, in the same log: from where the
step goes back, what was logged for later steps belongs to a past that the run has left, whether it reached those steps
again or not.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from npu_recipes.runs.series import Series, Steps, Values

_SHOWN = 3
_NONE = np.iinfo(np.int64).max


class Samples:
    """The values of one metric as they came: compact, since a long run has millions of them."""

    def __init__(self) -> None:
        self.orders, self.steps, self.values = array("q"), array("q"), array("d")

    def add(self, order: int, step: int, value: float) -> None:
        """Add a value; `order` numbers its record."""
        self.orders.append(order)
        self.steps.append(step)
        self.values.append(value)

    def extend(self, later: Samples, offset: int) -> None:
        """Add those of a later file, whose records are numbered from `offset` on."""
        self.orders.extend(order + offset for order in later.orders)
        self.steps.extend(later.steps)
        self.values.extend(later.values)

    def move(self, by: int) -> None:
        """Move them to later steps."""
        self.steps = array("q", [step + by for step in self.steps])

    def repeats(self) -> bool:
        """Return whether a step is there twice."""
        return len(set(self.steps)) < len(self.steps)


def several_of(steps: Steps, values: Values) -> tuple[int, int]:
    """Return how many steps have several values that are not the same, and how many steps there are."""
    if len(np.unique(steps)) == len(steps):  # as in most logs, whose values are many
        return 0, len(steps)
    unlike = np.unique(np.column_stack([steps, values.view(np.int64)]), axis=0)
    _, counts = np.unique(unlike[:, 0], return_counts=True)
    return int((counts > 1).sum()), len(counts)


class Returns:
    """From which record on, to which step, and from which step a run went back."""

    def __init__(self) -> None:
        self._all: list[tuple[int, int, int]] = []

    def __len__(self) -> int:
        return len(self._all)

    def add(self, order: int, back: int, last: int) -> None:
        """Add a return from step `last` to step `back` with the record of that number."""
        self._all.append((order, back, last))

    def extend(self, later: Returns, offset: int) -> None:
        """Add those of a later file, whose records are numbered from `offset` on."""
        self._all += [(order + offset, back, last) for order, back, last in later._all]

    def move(self, by: int) -> None:
        """Move them to later steps."""
        self._all = [(order, back + by, last + by) for order, back, last in self._all]

    def clear(self) -> None:
        """Forget them all: the records were in no order of time."""
        self._all.clear()

    def kept(self, samples: Samples) -> tuple[Steps, Values]:
        """Return the steps and values that no later return of the run has left behind."""
        steps, values = np.array(samples.steps, dtype=np.int64), np.array(samples.values, dtype=np.float64)
        if not self._all:
            return steps, values
        since, back, _ = np.array(self._all, dtype=np.int64).T
        lowest = np.append(np.minimum.accumulate(back[::-1])[::-1], _NONE)
        keep = steps <= lowest[np.searchsorted(since, np.array(samples.orders), side="right")]
        return steps[keep], values[keep]

    def notes(self, first: int | None) -> Iterator[str]:
        """Yield in words what was left out; `first` is the first step of all."""
        resumed = [f"from step {last} to {back}" for _, back, last in self._all if back != first]
        if times := len(self._all) - len(resumed):
            what = "begins" if times == 1 else f"begins {times} times"
            yield f"{what} again at step {first}: several runs in one log; only the last of them counts"
        if resumed:
            shown = ", ".join(resumed[:_SHOWN])
            more = f" and {len(resumed) - _SHOWN} times more" if len(resumed) > _SHOWN else ""
            yield f"goes back {shown}{more}: it was resumed; what was logged for later steps before that is left out"


_WIDTH = 40
# If records go back so often and never forward, the file is sorted the other way round; a resumed run goes forward.
_FALLING = 2
# A run that goes back more often than that, and with every fourth record, was not resumed: its records are in no order.
_RETURNS, _OFTEN = 5, 4
# Steps with several values: fewer come from runs that begin again, or log a step's end twice.
_CONTESTED = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Logged:
    """What a run has logged."""

    series: Mapping[str, Series]  # every metric; of a step that was logged twice the later value
    records: Steps  # the steps of all records, those without a value among them
    unread: Mapping[str, str]  # in words why which metric cannot be told; a text among them, which has no series
    notes: tuple[str, ...]  # in words what was left out
    counted: bool  # whether steps are numbers of records, which state none


class Collector:
    """Takes records in the order they were logged, and each record's values."""

    def __init__(self) -> None:
        self.counted = False
        self._samples: dict[str, Samples] = {}
        self._records = Samples()
        # How many values of a metric are no numbers, and the first of them.
        self._passed: dict[str, tuple[int, str]] = {}
        self._order = 0
        self._step = 0
        # How far the run has come since it went back, and how many records are for an earlier, or a later, step than
        # the one before.
        self._reached = 0
        self._fallen = self._risen = 0
        self._begun: int | None = None
        self._first: int | None = None
        self._returns = Returns()
        # How files in no order of time were read, and, by metric, which of their steps have several values.
        self._sorted: dict[str, None] = {}
        self._unlike: dict[str, str] = {}

    def record(self, step: int) -> None:
        """Begin a record: what is added from now on was logged for this step."""
        self._order += 1
        if self._order > 1:
            self._fallen += step < self._step
            self._risen += step > self._step
        self._step = step
        self._reached = max(self._reached, step) if self._order > 1 else step
        self._records.add(self._order, step, 0.0)
        self._begun = step if self._begun is None else self._begun
        self._first = step if self._first is None else min(step, self._first)

    def add(self, metric: str, value: float) -> None:
        """Add a value to the record that was begun last."""
        samples = self._samples.get(metric)
        if samples is None:
            samples = self._samples[metric] = Samples()
        elif self._step < samples.steps[-1] and self._step < self._reached:
            self._returns.add(self._order, self._step, self._reached)
            self._reached = self._step
        samples.add(self._order, self._step, value)

    def pass_over(self, metric: str, value: object, where: str) -> None:
        """Count a value that is no number; `where` says in words where it stands."""
        count, first = self._passed.get(metric, (0, f"`{str(value)[:_WIDTH]}` {where}"))
        self._passed[metric] = count + 1, first

    def count_from(self, before: int) -> None:
        """Say that steps are numbers of records, and move them to where the first is one of that many behind others."""
        self.counted = True
        self._returns.move(before)
        for samples in (self._records, *self._samples.values()):
            samples.move(before)
        self._step, self._reached = self._step + before, self._reached + before
        self._begun = None if self._begun is None else self._begun + before
        self._first = None if self._first is None else self._first + before

    def settle(self, *, in_time: bool) -> None:
        """End a file: where its records are sorted otherwise, no run went back.

        Args:
            in_time: whether records stand in the order they were logged in, as in a log; a table may be sorted.
        """
        if understood := self._understood(in_time=in_time):
            self._sorted[understood] = None
            self._returns.clear()
            for metric, samples in self._samples.items():
                several, of = several_of(*self._returns.kept(samples))
                if several:
                    self._unlike[metric] = f"{several} of its {of} steps have several values, in no order of time"
            self._begun, self._step = self._first, max(self._records.steps)
            self._reached = self._step

    def _understood(self, *, in_time: bool) -> str:
        """Return in words how a file is read whose records are in no order of time; empty where they are in one."""
        if self._fallen >= _FALLING and not self._risen:
            return "its steps fall from the first line to the last: it is sorted the other way round, and read so"
        if in_time or not self._returns:
            return ""
        if not any(map(Samples.repeats, self._samples.values())):
            return "its steps are in no order, and each is there once: it is read by step"
        if len(self._returns) > max(_RETURNS, self._order // _OFTEN):
            return "its steps are in no order: it is read by step"
        return ""

    def follow(self, later: Collector) -> None:
        """Add what a later file of the same run holds."""
        if later._begun is None or later._first is None or self._first is None:
            return
        offset = self._order
        self.counted |= later.counted
        if later._begun < self._reached:
            self._returns.add(offset + 1, later._begun, self._reached)
        self._returns.extend(later._returns, offset)
        self._sorted |= later._sorted
        self._unlike |= later._unlike
        self._order, self._step, self._reached = offset + later._order, later._step, later._reached
        self._first = min(self._first, later._first)
        self._records.extend(later._records, offset)
        for metric, samples in later._samples.items():
            self._samples.setdefault(metric, Samples()).extend(samples, offset)
        for metric, (more, first) in later._passed.items():
            count, earlier = self._passed.get(metric, (0, first))
            self._passed[metric] = count + more, earlier

    def beside(self, others: Sequence[Collector]) -> None:
        """Add what others hold of the same time, each metrics of its own, by step and without what they left behind."""
        records = (one._returns.kept(one._records)[0] for one in others)
        orders = {step: order for order, step in enumerate(np.unique(np.concatenate([*records])).tolist(), start=1)}
        for step in orders:
            self.record(step)
        for one in others:
            self._sorted |= one._sorted | dict.fromkeys(one._returns.notes(one._first))
            self._unlike |= one._unlike
            for metric, samples in one._samples.items():
                steps, values = one._returns.kept(samples)
                own = self._samples[metric] = Samples()
                for place in np.argsort(steps, kind="stable"):
                    own.add(orders[steps[place]], steps[place], values[place])

    def __bool__(self) -> bool:
        return not all(map(self._is_text, self._samples))

    def logged(self) -> Logged:
        """Return what remains, with what was odd about it."""
        unread = self._unread()
        series = {name: self._cleared(samples) for name, samples in self._samples.items() if not self._is_text(name)}
        notes = [f"{name}: {what}" for name, what in unread.items() if name in series]
        notes += [*self._sorted, *self._returns.notes(self._first)]
        kept = map(self._returns.kept, self._samples.values())
        if repeated := sum(several_of(steps, values)[0] for steps, values in kept):
            notes.append(f"{repeated} values were logged twice for their step: the later ones count")
        return Logged(
            series=series,
            records=self._cleared(self._records).steps,
            unread=unread,
            notes=tuple(notes),
            counted=self.counted,
        )

    def _unread(self) -> dict[str, str]:
        """Return by metric, in words, which of its values are uncertain or no numbers; other metrics are left out."""
        found: dict[str, str] = {}
        for name, samples in self._samples.items():
            several, of = several_of(*self._returns.kept(samples))
            if name in self._unlike:
                found[name] = self._unlike[name]
            elif several >= _CONTESTED and several * 2 > of:
                what = f"{several} of its {of} steps have several values"
                found[name] = f"{what}, as where two runs log at once: the last ones count"
        for name, (count, first) in self._passed.items():
            what = f"{count} of its values are no numbers and are left out, the first {first}"
            found[name] = f"{found[name]}; {what}" if name in found else what
        return found

    def _is_text(self, metric: str) -> bool:
        """Return whether there is no number of it: between words, `None` is a word, too."""
        return metric in self._passed and not np.isfinite(self._samples[metric].values).any()

    def _cleared(self, samples: Samples) -> Series:
        steps, values = self._returns.kept(samples)
        # The first of each step, seen from the end, is the last that was logged.
        unique, index = np.unique(steps[::-1], return_index=True)
        return Series(steps=unique, values=values[::-1][index])
