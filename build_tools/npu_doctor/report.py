"""The report of the doctor: what it found → a table for people, JSON, and an exit code."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from npu_doctor.model import LEVELS, Level, Origin, Row
from npu_summary.reports import UNTOLD, Report
from npu_summary.stream import printable

_OK, _BROKEN = 0, 1
_WIDTH = 118
_INDENT = " " * 12
_WORDS: dict[Level, str] = {"broken": "BROKEN", "unknown": "unknown", "compatible": "compatible", "matched": "matched"}


@dataclass(frozen=True, kw_only=True)
class Diagnosis(Report):
    """Everything the doctor found."""

    stack: str  # name of the stack it was held against, empty for none
    nearest: str  # the stack whose pins fit best, where there is none
    # The patched wheels that the stack was chosen for, with their overlays; empty where it was named.
    wheels: Mapping[str, str]
    others: tuple[str, ...]  # further stacks that these wheels were built for
    rows: tuple[Row, ...]  # the findings, worst first
    origins: tuple[Origin, ...]  # where each package comes from
    facts: dict[str, str]  # versions and machine data, to be compared between machines

    @property
    def counts(self) -> Counter[Level]:
        """The number of rows of each level."""
        return Counter(row.level for row in self.rows)

    @property
    def exit_code(self) -> int:
        """0 all matched or compatible, 1 something broken, 2 something could not be told."""
        if self.counts["broken"]:
            return _BROKEN
        return UNTOLD if self.counts["unknown"] else _OK

    def value(self) -> dict[str, Any]:
        """Return what `to_json` renders."""
        counts = self.counts
        return {
            "schema": 1,
            "stack": self.stack,
            "nearest": self.nearest,
            "wheels": dict(self.wheels),
            "others": list(self.others),
            "exit_code": self.exit_code,
            "counts": {level: counts[level] for level in LEVELS},
            "rows": list(map(Row.as_json, self.rows)),
            "packages": list(map(vars, self.origins)),
            "facts": self.facts,
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines for people: what is broken first, each with its fix; what is well on one line each."""
        lines = [*_wrap(_heading(self), further=""), ""]
        for row in self.rows:
            lines += _row_lines(row)
        lines += ["", "Imported from: (by a Python started in this folder)"]
        for origin in self.origins:
            lines += _origin_lines(origin)
        if not self.origins:
            lines.append("  none of the packages is installed")
        return map(printable, [*lines, "", _verdict(self)])


def _heading(report: Diagnosis) -> str:
    if report.stack:
        wheels = " and ".join(f"{name} ({overlay})" for name, overlay in report.wheels.items())
        others = "".join(f" --stack {name}" for name in report.others)
        because = f", which {wheels} {'were' if len(report.wheels) > 1 else 'was'} built for" if wheels else ""
        also = f" Others for the same wheels:{others}." if others else ""
        return f"Compared with the stack {report.stack}{because}, and the published tables.{also}"
    nearest = f" Nearest stack: {report.nearest} (--stack {report.nearest})." if report.nearest else ""
    return f"Compared with the published tables.{nearest}"


def _row_lines(row: Row) -> list[str]:
    expected = f" (expected: {row.expected})" if row.expected and row.level != "matched" else ""
    lines = _wrap(f"{_WORDS[row.level]:<12}{row.component}: {row.found}{expected}")
    if row.level == "matched":
        return lines
    sources = [("see", one) for one in row.see]
    for name, value in (("why", row.why), ("fix", row.fix), *sources):
        if value:
            lines += _wrap(f"{_INDENT}{name}: {value}", further=f"{_INDENT}     ")
    return lines


def _wrap(line: str, further: str = _INDENT) -> list[str]:
    # Paths, commands and addresses stay whole, so that they can be copied.
    return textwrap.wrap(
        line, _WIDTH, subsequent_indent=further, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    ) or [line]


def _origin_lines(origin: Origin) -> list[str]:
    named = f"{origin.distribution} {origin.version}".strip() or "no distribution"
    commit = f", commit {origin.commit}" if origin.commit else ""
    branch = f" ({origin.branch})" if origin.branch else ""
    digest = f", sha256 {origin.sha256[:16]}" if origin.sha256 else ""
    lines = [f"  {origin.package}: {origin.file}", f"      {named}, {origin.kind}{commit}{branch}{digest}"]
    return [*lines, f"      made of {origin.made}"] if origin.made else lines


def _verdict(report: Diagnosis) -> str:
    counts = report.counts
    said = ", ".join(f"{counts[level]} {level}" for level in _WORDS if counts[level])
    return f"{said or 'nothing to check'}; exit {report.exit_code}"
