"""Series: the values of a metric by step, and a run as a name with many of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

Steps = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Series:
    """One metric of one run."""

    steps: Steps  # ascending, each once
    values: Values  # as many; NaN and infinities are kept, since they say something


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """What one run logged."""

    name: str  # as its user named it
    form: str  # what kind of file it was read from
    metrics: Mapping[str, Series]  # by name, in the order of their first appearance
    notes: tuple[str, ...] = ()  # what was odd, and how it was understood
    # The files it was read from, in full, each with the run of it that was named.
    places: tuple[tuple[Path, str], ...] = ()
    # The steps at which there was a record, with values or without; None where its metrics have them all.
    records: Steps | None = None
    counted: bool = False  # whether its steps are numbers of records, which state none
    # By metric, in words, what is no number, or of several runs; metrics among them without any number.
    unread: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def steps(self) -> Steps:
        """Every step at which anything was logged."""
        return np.unique(np.concatenate([one.steps for one in self.metrics.values()]))
