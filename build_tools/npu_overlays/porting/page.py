"""Page: a drift → one HTML page that needs nothing beside it, with its curves drawn."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from npu_overlays.porting.drift import Drift
from npu_overlays.porting.report import Curve, change_rows, curve_rows

_COLOURS = ("#0b6e99", "#2a9d5c", "#8a8a8a", "#b07d2b", "#d9a441", "#6a4c93", "#c1121f", "#f07167")
_WIDTH, _HEIGHT, _LEFT, _TOP = 920, 300, 46, 10
_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100%; font-size: 13px }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #8884 }
td.n { white-space: nowrap; font-variant-numeric: tabular-nums }
svg { width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: currentColor }
.key { display: inline-block; width: 1.4em; height: .35em; margin-right: .5em; vertical-align: middle }
"""
_PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>{style}</style></head><body>
<h1>{title}</h1>
<p>{commits} commits, from {first} to {last}. Each line is a share, commit by commit: of what applies as it stands,
of what `npu-overlays port` has an answer to, of what upstream does itself by then.</p>
{plot}
<table><thead><tr><th>share of<th>mean<th>commits with all<th>at the end</tr></thead><tbody>
{curves}
</tbody></table>
<h2>What does not apply everywhere</h2>
<table><thead>
<tr><th>applies<th>with rules<th>action<th>target<th>at the end<th>first breaking commit</tr>
</thead><tbody>
{changes}
</tbody></table>
</body></html>
"""


def page(overlay: str, drift: Drift, listed: list[Curve]) -> str:
    """Return the page of a drift."""
    first, last = drift.commits[0], drift.commits[-1]
    text = _PAGE.format(
        title=escape(f"Drift of {overlay}"),
        style=_STYLE,
        commits=len(drift.commits),
        first=escape(str(first)),
        last=escape(str(last)),
        plot=_plot(listed, len(drift.commits)),
        curves="\n".join(_curve(number, row) for number, row in enumerate(curve_rows(listed))),
        changes="\n".join(_row(row) for row in change_rows(drift)) or '<tr><td colspan="6">Everything does.</tr>',
    )
    # A commit's message may have bytes that are of no encoding it states.
    return text.encode(errors="backslashreplace").decode()


def _plot(listed: list[Curve], commits: int) -> str:
    lines = [
        f'<polyline fill="none" stroke="{_colour(number)}" stroke-width="2" points="{_points(curve)}">'
        f"<title>{escape(curve.name)}</title></polyline>"
        for number, curve in enumerate(listed)
    ]
    grid = [
        f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{_y(value):.1f}" y2="{_y(value):.1f}" stroke="#8884"/>'
        f'<text x="0" y="{_y(value) + 4:.1f}">{100 * value:.0f} %</text>'
        for value in (0, 0.25, 0.5, 0.75, 1)
    ]
    below = _TOP + _HEIGHT + 18
    axis = f'<text x="{_LEFT}" y="{below}">0</text>'
    axis += f'<text x="{_LEFT + _WIDTH}" y="{below}" text-anchor="end">{commits - 1} commits later</text>'
    box = f"0 0 {_LEFT + _WIDTH + 10} {_TOP + _HEIGHT + 30}"
    return f'<svg viewBox="{box}" role="img" aria-label="survival">{"".join([*grid, *lines, axis])}</svg>'


def _points(curve: Curve) -> str:
    # Of one commit a line, too: a point is not seen.
    shares = curve.shares if len(curve.shares) > 1 else 2 * curve.shares
    step = _WIDTH / max(1, len(shares) - 1)
    return " ".join(f"{_LEFT + number * step:.1f},{_y(value):.1f}" for number, value in enumerate(shares))


def _y(value: float) -> float:
    return _TOP + _HEIGHT * (1 - value)


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _curve(number: int, row: Iterable[str]) -> str:
    name, *rest = row
    key = f'<span class="key" style="background:{_colour(number)}"></span>'
    return f"<tr><td>{key}{escape(name)}{''.join(f'<td class=n>{escape(cell)}' for cell in rest)}</tr>"


def _row(row: Iterable[str]) -> str:
    *first, target, fate, commit = row
    cells = [
        *(f"<td class=n>{escape(cell)}" for cell in first),
        *(f"<td>{escape(cell)}" for cell in (target, fate, commit)),
    ]
    return f"<tr>{''.join(cells)}</tr>"
