"""Table: what came of one sample → a row of text, or JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sampled.porting import Ported
from sampled.sampling import Sample

HEADINGS = ("", "commit", "date", "ported from", "fit", "proposed", "left", "passed", "otherwise")
WIDTHS = (1, 9, 10, 12, 3, 8, 4, 6, 9)


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What came of one sample.

    Args:
        sample: the sample.
        ported: what became of the overlay there.
        passed: how many of upstream's tests pass over upstream.
        differences: a line for each that ends otherwise over the patched tree.
    """

    sample: Sample
    ported: Ported
    passed: int = 0
    differences: tuple[str, ...] = ()

    @property
    def is_right(self) -> bool:
        """Whether it could be locked, tests were run, and nothing ends otherwise."""
        return bool(self.passed) and not self.ported.problems and not self.differences


def cells(one: Tried) -> tuple[str, ...]:
    """Return its row of the table."""
    commit, ported = one.sample.commit, one.ported
    counts = (ported.fitting, len(ported.accepted), len(ported.left), one.passed, len(one.differences))
    return one.sample.range.name, commit.id[:9], commit.date, one.sample.range.overlay, *map(str, counts)


def as_json(found: Iterable[Tried]) -> list[dict[str, Any]]:
    """Return all of it as JSON."""
    return [
        {
            "range": one.sample.range.name,
            "commit": one.sample.commit.id,
            "date": one.sample.commit.date,
            "from": one.sample.range.overlay,
            "fitting": one.ported.fitting,
            "accepted": list(one.ported.accepted),
            "left": list(one.ported.left),
            "problems": list(one.ported.problems),
            "passed": one.passed,
            "differences": list(one.differences),
            "right": one.is_right,
        }
        for one in found
    ]
