"""The report for people: a report in, a table out."""

from __future__ import annotations

import textwrap

from npu_doctor.model import Level, Origin, Report, Row

_WIDTH = 118
_INDENT = " " * 12
_WORDS: dict[Level, str] = {"broken": "BROKEN", "unknown": "unknown", "compatible": "compatible", "matched": "matched"}


def render(report: Report) -> str:
    """Return the report as text: what is broken first, each with its fix; what is well on one line each."""
    lines = [_heading(report), ""]
    for row in report.rows:
        lines += _row(row)
    lines += ["", "Imported from:"]
    lines += [line for origin in report.origins for line in _origin(origin)] or ["  none of the packages is installed"]
    lines += ["", _verdict(report)]
    return "\n".join(map(_printable, lines)) + "\n"


def _heading(report: Report) -> str:
    if report.stack:
        return f"Held against the stack {report.stack} and the published tables."
    nearest = f" Nearest stack: {report.nearest} (--stack {report.nearest})." if report.nearest else ""
    return f"Held against the published tables.{nearest}"


def _row(row: Row) -> list[str]:
    expected = f" (expected: {row.expected})" if row.expected and row.level != "matched" else ""
    lines = _wrapped(f"{_WORDS[row.level]:<12}{row.component}: {row.found}{expected}")
    if row.level == "matched":
        return lines
    for name, value in (("why", row.why), ("fix", row.fix), ("see", " ".join(row.see))):
        if value:
            lines += _wrapped(f"{_INDENT}{name}: {value}", further=f"{_INDENT}     ")
    return lines


def _wrapped(line: str, further: str = _INDENT) -> list[str]:
    # Paths, commands and addresses stay whole, so that they can be copied.
    return textwrap.wrap(
        line, _WIDTH, subsequent_indent=further, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    ) or [line]


def _origin(origin: Origin) -> list[str]:
    named = f"{origin.distribution} {origin.version}".strip() or "no distribution"
    commit = f", commit {origin.commit}" if origin.commit else ""
    branch = f" ({origin.branch})" if origin.branch else ""
    digest = f", sha256 {origin.sha256[:16]}" if origin.sha256 else ""
    lines = [f"  {origin.package}: {origin.file}", f"      {named}, {origin.kind}{commit}{branch}{digest}"]
    return [*lines, f"      made of {origin.made}"] if origin.made else lines


def _verdict(report: Report) -> str:
    counts = {level: sum(row.level == level for row in report.rows) for level in _WORDS}
    said = ", ".join(f"{number} {level}" for level, number in counts.items() if number)
    return f"{said or 'nothing to check'}; exit {report.exit_code}"


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)
