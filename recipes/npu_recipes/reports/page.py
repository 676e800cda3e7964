"""Page: a comparison → one HTML page with curves, which loads nothing from anywhere and needs no script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files

from npu_recipes.comparison.judgement import Judged
from npu_recipes.comparison.verdict import Comparison
from npu_recipes.reports.comparison import cells, described, percent, several_seeds, verdict
from npu_recipes.reports.picture import picture

_HEADINGS = (
    ("metric", ""),
    ("verdict", ""),
    ("limit", "the largest mean error it may have"),
    ("mean error", "mean(|run - reference| / |reference|) over the common steps"),
    ("largest", "the largest relative error of a step"),
    ("at step", "where that is"),
    ("diverges at", "the first step whose error is above the limit"),
    ("for good", "the first step from which on every error is above the limit"),
    ("error / mean", "sum of the differences by sum of the reference: for metrics near zero"),
    ("steps", "over which the mean is taken"),
)
_OF_SEEDS = (
    ("spread ref.", "of the seeds of the reference: standard deviation by mean"),
    ("spread run", "likewise of the run"),
)
# Machines differ in speed, which is no question of precision; verl logs dozens of such metrics.
_OF_SPEED = ("timing", "perf/")


def page(comparison: Comparison, *, tell: Callable[[str], None]) -> str:
    """Return the page.

    Args:
        comparison: what it shows.
        tell: called with what is being drawn.
    """
    several = several_seeds(comparison)
    style = files("npu_recipes.reports").joinpath("page.css").read_text("utf-8")
    judged = [one for one in comparison.metrics if one.limit is not None]
    others = [one for one in comparison.metrics if one.limit is None]
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Precision: {escape(comparison.verdict)}</title><style>{style}</style></head><body>",
            *_head(comparison),
            _table(judged, several=several),
            *_figures(judged, tell),
            *_rest(others, tell, several=several),
            *_one_sided(comparison),
            "</body></html>\n",
        ]
    )


def _head(comparison: Comparison) -> Iterator[str]:
    yield "<h1>Precision comparison</h1>"
    yield f'<p class="verdict {comparison.verdict}">{escape(verdict(comparison))}</p>'
    for problem in comparison.problems:
        yield f'<p class="unusable">{escape(str(problem))}</p>'
    yield '<table class="sides">'
    for side, runs in (("reference", comparison.reference), ("run", comparison.run)):
        for run in runs:
            notes = "".join(f'<div class="note">{escape(note)}</div>' for note in run.notes)
            yield f'<tr><td class="key {side}">{side}</td><td>{escape(described(run))}{notes}</td></tr>'
    yield "</table>"


def _table(shown: Sequence[Judged], *, several: bool) -> str:
    if not shown:
        return ""
    headings = (*_HEADINGS, *_OF_SEEDS) if several else _HEADINGS
    heads = "".join(f'<th title="{escape(title)}">{escape(name)}</th>' for name, title in headings)
    rows = "".join(f"<tr>{''.join(_cells(one, several=several))}</tr>" for one in shown)
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cells(one: Judged, *, several: bool) -> Iterator[str]:
    yield f"<td>{escape(one.metric)}</td>"
    yield f'<td class="status {one.status.split()[-1]}">{escape(one.status)}</td>'
    for heading, value in cells(one).items():
        if several or not heading.startswith("spread"):
            yield f"<td>{escape(value)}</td>"


def _figures(shown: Sequence[Judged], tell: Callable[[str], None]) -> Iterable[str]:
    yield '<div class="curves">'
    for number, one in enumerate(shown, start=1):
        tell(f"drawing {number} of {len(shown)}: {one.metric}")
        mark = f'<span class="{one.status.split()[-1]}">{escape(one.status)}</span>'
        numbers = f"mean error {percent(one.measure.mean)}, largest {percent(one.measure.largest)}"
        notes = "".join(f'<p class="note">{note}</p>' for note in (f"{mark}; {numbers}", *map(escape, one.notes)))
        yield f"<figure><h3>{escape(one.metric)}</h3>{notes}{picture(one)}</figure>"
    yield "</div>"


def _rest(others: Sequence[Judged], tell: Callable[[str], None], *, several: bool) -> Iterator[str]:
    if others:
        yield f"<details><summary>{len(others)} metrics without a limit</summary>"
        yield _table(others, several=several)
        drawn = [one for one in others if not one.metric.startswith(_OF_SPEED)]
        if len(drawn) < len(others):
            yield '<p class="note">Of times and speeds no curves are drawn.</p>'
        yield from _figures(drawn, tell)
        yield "</details>"


def _one_sided(comparison: Comparison) -> Iterator[str]:
    for side, names in (("reference", comparison.only_reference), ("run", comparison.only_run)):
        if names:
            listed = escape(", ".join(names))
            yield f"<details><summary>{len(names)} metrics that only the {side} has</summary><p>{listed}</p></details>"
