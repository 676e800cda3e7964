"""What the doctor says: rows with a level, what was found, what was expected, what to do and where that was learnt."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

Level = Literal["matched", "compatible", "broken", "unknown"]

# In the order a reader wants them.
LEVELS: tuple[Level, ...] = ("broken", "unknown", "compatible", "matched")
OK, BROKEN, UNKNOWN = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class Row:
    """One finding.

    Args:
        component: what it is about: a package, a variable, a file.
        level: ``matched`` (as published together), ``compatible`` (a published range allows it, or it works but is
            at risk), ``broken``, or ``unknown`` (could not be told).
        found: what is there.
        expected: what should be.
        why: what happens otherwise, with the message users see.
        fix: what to do.
        see: threads and documents it was learnt from.
        symptom: number in the table of symptoms, 0 for none.
        check: which check found it, a stable identifier; the examination fills it in.
    """

    component: str
    level: Level
    found: str = ""
    expected: str = ""
    why: str = ""
    fix: str = ""
    see: tuple[str, ...] = ()
    symptom: int = 0
    check: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the row for JSON."""
        return {**vars(self), "see": list(self.see)}


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where one package is really imported from.

    Args:
        package: its import name.
        distribution: the distribution it belongs to, empty where none claims it.
        version: that distribution's version.
        file: the file that would be imported.
        kind: ``wheel``, ``editable``, ``git``, ``path`` (neither installed nor editable) or ``egg``.
        commit: the commit it was made from, where that can be told.
        branch: the branch its clone is on, where there is one.
        sha256: digest over its Python files, to be compared between machines.
        made: of a patched distribution, the upstream it was made of, and from what bytes.
    """

    package: str
    distribution: str
    version: str
    file: str
    kind: str
    commit: str = ""
    branch: str = ""
    sha256: str = ""
    made: str = ""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything the doctor found.

    Args:
        stack: name of the stack it was held against, empty for none.
        nearest: the stack whose pins fit best, where none was named.
        rows: the findings, worst first.
        origins: where each package comes from.
        facts: versions and machine data, to be compared between machines.
    """

    stack: str
    nearest: str
    rows: tuple[Row, ...]
    origins: tuple[Origin, ...]
    facts: dict[str, str]

    @property
    def exit_code(self) -> int:
        """0 all matched or compatible, 1 something broken, 2 something could not be told."""
        levels = {row.level for row in self.rows}
        if "broken" in levels:
            return BROKEN
        return UNKNOWN if "unknown" in levels else OK

    def to_json(self) -> str:
        """Render for machines; ASCII only."""
        value = {
            "schema": 1,
            "stack": self.stack,
            "nearest": self.nearest,
            "exit_code": self.exit_code,
            "counts": {level: sum(row.level == level for row in self.rows) for level in LEVELS},
            "rows": [row.as_json() for row in self.rows],
            "packages": [vars(origin) for origin in self.origins],
            "facts": self.facts,
        }
        return json.dumps(value, indent=1) + "\n"
