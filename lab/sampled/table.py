"""Table: what came of one sample → a row of text, or JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from sampled.ported_overlay import Ported
from sampled.samples import Sample
from sampled.verdict import Ours
from verl_tests import Verdict

HEADINGS = (
    "",
    "commit",
    "date",
    "ported from",
    "fit",
    "proposed",
    "left",
    "passed",
    "imported",
    "otherwise",
    "ours",
    "fail",
    "left out",
)
WIDTHS = (1, 9, 10, 12, 3, 8, 4, 6, 8, 9, 4, 4, 8)


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What came of one sample.

    Args:
        sample: the sample.
        ported: the verdicts on the overlay there.
        verdict: what upstream's tests say; None where they were not run, as where it cannot be locked.
        ours: what our own say; None likewise.
    """

    sample: Sample
    ported: Ported
    verdict: Verdict | None = None
    ours: Ours | None = None

    @property
    def is_right(self) -> bool:
        """Whether it could be locked, tests were run, and nothing ends otherwise but for a reason."""
        said = [one.passed for one in (self.verdict, self.ours) if one]
        return bool(said) and all(said) and not self.wrong

    @property
    def wrong(self) -> tuple[str, ...]:
        """What is wrong, line by line."""
        differences = self.verdict.differences if self.verdict else ()
        return (
            *self.ported.problems,
            *differences,
            *(f"ours: {one}" for one in (self.ours.failed if self.ours else ())),
        )


def cells(one: Tried) -> tuple[str, ...]:
    """Return its row of the table."""
    commit, ported = one.sample.commit, one.ported
    counts = (ported.fitting, len(ported.accepted), len(ported.left))
    said = one.verdict
    tried = (said.passed, f"{said.imported}/{len(ported.changed)}", len(said.differences)) if said else ("", "", "")
    own = one.ours
    ours = (own.passed, len(own.failed), sum(map(len, own.explained.values()))) if own else ("", "", "")
    return (
        one.sample.range.name,
        commit.id[:9],
        commit.date,
        one.sample.range.overlay,
        *map(str, (*counts, *tried, *ours)),
    )


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
            "marked": list(one.ported.marked),
            "problems": list(one.ported.problems),
            "changed": list(one.ported.changed),
            "passed": one.verdict.passed if one.verdict else None,
            "imported": one.verdict.imported if one.verdict else None,
            "differences": list(one.verdict.differences) if one.verdict else None,
            "ours": asdict(one.ours) if one.ours else None,
            "right": one.is_right,
        }
        for one in found
    ]
