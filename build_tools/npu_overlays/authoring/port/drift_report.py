"""Drift report: a drift → its shares as curves, JSON, rows of a table, and an HTML page that needs no other file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from operator import attrgetter
from typing import Any

from npu_overlays.authoring.port.drift import Drift, Survival, share
from npu_overlays.authoring.port.html_document import document
from npu_overlays.authoring.port.line_patches import FileVersion, LinePatches
from npu_overlays.authoring.port.verdicts import Verdict

_COLOURS = ("#0b6e99", "#2a9d5c", "#8a8a8a", "#b07d2b", "#d9a441", "#6a4c93", "#c1121f", "#f07167")
_WIDTH, _HEIGHT, _LEFT, _TOP = 920, 300, 46, 10
_BODY = """\
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
"""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A share for each commit: 1 if all of something applies.

    Args:
        name: what it is the share of.
        shares: commit by commit.
    """

    name: str
    shares: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean share."""
        return sum(self.shares) / len(self.shares)

    @property
    def whole(self) -> int:
        """The number of commits on which all of it applies."""
        return self.shares.count(1)


def curves(drift: Drift, patches: LinePatches | None, files: Sequence[str]) -> list[Curve]:
    """Return the curves of a drift: of operations, of substitutions, and of files beside those of line patches.

    Args:
        drift: of an overlay.
        patches: the versions on which line patches of the same changes apply; None if they were not tried.
        files: the files of upstream's that the overlay changes.
    """
    found = [
        _curve("operations", drift, drift.operations, attrgetter("applies")),
        _curve("operations, with port's rules", drift, drift.operations, attrgetter("resolved")),
        _curve("operations absorbed upstream", drift, drift.operations, _is_absorbed),
    ]
    if drift.edits:
        found.append(_curve("text substitutions", drift, drift.edits, attrgetter("applies")))
        found.append(_curve("text substitutions, with port's rules", drift, drift.edits, attrgetter("resolved")))
    if patches is not None and files:
        found.append(Curve(name="files, by operations", shares=_shares_of_files(drift, files)))
        found.append(Curve(name="files, by git apply", shares=_shares_of_patches(drift, files, patches.git)))
        if patches.fuzzy is not None:
            shares = _shares_of_patches(drift, files, patches.fuzzy)
            found.append(Curve(name="files, by GNU patch with fuzz 2", shares=shares))
    return found


def _curve(name: str, drift: Drift, changes: Sequence[Survival], counts: Callable[[Verdict], bool]) -> Curve:
    """Return the curve of the changes whose verdict counts."""
    shares: list[float] = []
    for number in range(len(drift.commits)):
        shares.append(share(counts(one.verdicts[number]) for one in changes))
    return Curve(name=name, shares=tuple(shares))


def _is_absorbed(verdict: Verdict) -> bool:
    return verdict.kind == "absorbed"


def _shares_of_files(drift: Drift, files: Sequence[str]) -> tuple[float, ...]:
    """Return for each commit the share of files on which all changes apply."""
    shares: list[float] = []
    for number in range(len(drift.commits)):
        broken = {one.path for one in (*drift.operations, *drift.edits) if not one.verdicts[number].applies}
        shares.append(share(path not in broken for path in files))
    return tuple(shares)


def _shares_of_patches(drift: Drift, files: Sequence[str], patched: frozenset[FileVersion]) -> tuple[float, ...]:
    """Return for each commit the share of files on which their line patch applies."""
    shares: list[float] = []
    for state in drift.states:
        shares.append(share((path, state.get(path, "")) in patched for path in files))
    return tuple(shares)


def as_json(overlay: str, drift: Drift, listed: list[Curve]) -> dict[str, Any]:
    """Return a drift as JSON."""
    return {
        "overlay": overlay,
        "commits": [{"id": one.id, "date": one.date, "subject": one.subject} for one in drift.commits],
        "curves": [
            {"name": one.name, "mean": one.mean, "whole": one.whole, "shares": list(one.shares)} for one in listed
        ],
        "changes": [_change(drift, one) for one in (*drift.operations, *drift.edits)],
    }


def _change(drift: Drift, one: Survival) -> Mapping[str, Any]:
    at, last = one.first_break, one.verdicts[-1]
    return {
        "action": one.action,
        "target": one.name,
        "where": one.where,
        "applies": one.applies,
        "resolved": one.resolved,
        "absorbed": one.absorbed,
        "first-break": None if at is None else drift.commits[at].id,
        "at-the-end": {
            "kind": last.kind,
            "applies": last.applies,
            "proposal": last.proposal,
            "to": last.to,
            "likeness": last.likeness,
            "evidence": last.evidence,
        },
    }


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def curve_rows(listed: Iterable[Curve]) -> list[tuple[str, ...]]:
    """Return a row for each curve: name, mean, number of commits on which everything applies, and last share."""
    rows: list[tuple[str, ...]] = []
    for one in listed:
        rows.append((one.name, _percent(one.mean), f"{one.whole} of {len(one.shares)}", _percent(one.shares[-1])))
    return rows


def change_rows(drift: Drift) -> list[tuple[str, ...]]:
    """Return a row for each change that does not apply everywhere, the one that applies least first."""
    rows: list[tuple[str, ...]] = []
    for one in sorted((*drift.operations, *drift.edits), key=lambda one: (one.applies, one.name)):
        at, last = one.first_break, one.verdicts[-1]
        if at is None and not one.absorbed:
            continue
        commit = "" if at is None else str(drift.commits[at])
        end = f"{last.kind} → {last.to}" if last.to else last.kind
        rows.append((_percent(one.applies), _percent(one.resolved), one.action, one.name, end, commit))
    return rows


def page(overlay: str, drift: Drift, listed: list[Curve]) -> str:
    """Return the page of a drift."""
    rows = list(map(_change_row, change_rows(drift)))
    body = _BODY.format(
        commits=len(drift.commits),
        first=escape(str(drift.commits[0])),
        last=escape(str(drift.commits[-1])),
        plot=_plot(listed, len(drift.commits)),
        curves="\n".join(map(_curve_row, range(len(listed)), curve_rows(listed))),
        changes="\n".join(rows) or '<tr><td colspan="6">Everything does.</tr>',
    )
    return document(f"Drift of {overlay}", body)


def _plot(listed: list[Curve], commits: int) -> str:
    parts: list[str] = []
    for value in (0, 0.25, 0.5, 0.75, 1):
        height = f'y1="{_y(value):.1f}" y2="{_y(value):.1f}"'
        parts.append(f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" {height} stroke="#8884"/>')
        parts.append(f'<text x="0" y="{_y(value) + 4:.1f}">{100 * value:.0f} %</text>')
    for number, curve in enumerate(listed):
        line = f'<polyline fill="none" stroke="{_colour(number)}" stroke-width="2" points="{_points(curve)}">'
        parts.append(f"{line}<title>{escape(curve.name)}</title></polyline>")
    below = _TOP + _HEIGHT + 18
    parts.append(f'<text x="{_LEFT}" y="{below}">0</text>')
    parts.append(f'<text x="{_LEFT + _WIDTH}" y="{below}" text-anchor="end">{commits - 1} commits later</text>')
    box = f"0 0 {_LEFT + _WIDTH + 10} {_TOP + _HEIGHT + 30}"
    return f'<svg viewBox="{box}" role="img" aria-label="survival">{"".join(parts)}</svg>'


def _points(curve: Curve) -> str:
    # One commit makes a line, too: a point cannot be seen.
    shares = curve.shares if len(curve.shares) > 1 else 2 * curve.shares
    step = _WIDTH / max(1, len(shares) - 1)
    return " ".join(f"{_LEFT + number * step:.1f},{_y(value):.1f}" for number, value in enumerate(shares))


def _y(value: float) -> float:
    return _TOP + _HEIGHT * (1 - value)


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _curve_row(number: int, row: Sequence[str]) -> str:
    name, *cells = map(escape, row)
    key = f'<span class="key" style="background:{_colour(number)}"></span>'
    return f"<tr><td>{key}{name}<td class=n>{'<td class=n>'.join(cells)}</tr>"


def _change_row(row: Sequence[str]) -> str:
    cells = list(map(escape, row))
    return f"<tr><td class=n>{'<td class=n>'.join(cells[:3])}<td>{'<td>'.join(cells[3:])}</tr>"
