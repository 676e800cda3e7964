"""A row of the doctor's report: level, what was found and expected, what to do, and the source of that knowledge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Level = Literal["matched", "compatible", "broken", "unknown"]

# In the order a reader wants them.
LEVELS: tuple[Level, ...] = ("broken", "unknown", "compatible", "matched")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One finding."""

    component: str  # what it is about: a package, a variable, a file
    # ``matched`` (as published together), ``compatible`` (a published range allows it, or it works but is at risk),
    # ``broken``, or ``unknown`` (could not be told).
    level: Level
    found: str = ""  # what is there
    expected: str = ""  # what should be
    why: str = ""  # what happens otherwise, with the message users see
    fix: str = ""  # what to do
    see: tuple[str, ...] = ()  # threads and documents it was learnt from
    symptom: int = 0  # number in the table of symptoms, 0 for none
    check: str = ""  # which check found it, a stable identifier; the examination fills it in

    def as_json(self) -> dict[str, Any]:
        """Return the row for JSON."""
        return {**vars(self), "see": list(self.see)}


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where one package is really imported from."""

    package: str  # its import name
    distribution: str  # the distribution it belongs to, empty where none claims it
    version: str  # that distribution's version
    file: str  # the file that would be imported
    kind: str  # ``wheel``, ``editable``, ``git``, ``path`` (neither installed nor editable) or ``egg``
    commit: str = ""  # the commit it was made from, where that can be told
    branch: str = ""  # the branch its clone is on, where there is one
    sha256: str = ""  # digest over its Python files, to be compared between machines
    made: str = ""  # of a patched distribution, the upstream it was made of, and from what bytes
