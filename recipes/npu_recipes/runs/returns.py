"""Returns: where a run went back → what of its values it has left behind.

A run that is resumed from a checkpoint logs steps again, in the same log: from where the step goes back, what was
logged for later steps belongs to a past that the run has left, whether it reached those steps again or not.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np

from npu_recipes.runs.series import Steps, Values

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
        since = np.array([order for order, _, _ in self._all])
        back = np.array([step for _, step, _ in self._all], dtype=np.int64)
        lowest = np.append(np.minimum.accumulate(back[::-1])[::-1], _NONE)
        keep = steps <= lowest[np.searchsorted(since, np.array(samples.orders), side="right")]
        return steps[keep], values[keep]

    def notes(self, first: int | None) -> Iterator[str]:
        """Yield in words what was left out; `first` is the first step of all."""
        begun_again = [back for _, back, _ in self._all if back == first]
        resumed = [(back, last) for _, back, last in self._all if back != first]
        if begun_again:
            what = "begins" if len(begun_again) == 1 else f"begins {len(begun_again)} times"
            yield f"{what} again at step {first}: several runs in one log; only the last of them counts"
        if resumed:
            shown = ", ".join(f"from step {last} to {back}" for back, last in resumed[:_SHOWN])
            more = f" and {len(resumed) - _SHOWN} times more" if len(resumed) > _SHOWN else ""
            yield f"goes back {shown}{more}: it was resumed; what was logged for later steps before that is left out"
