"""What the doctor says of one thing: how it stands, what was found and expected, what to do, where that was learnt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Level = Literal["matched", "compatible", "broken", "unknown"]

# In the order a reader wants them.
LEVELS: tuple[Level, ...] = ("broken", "unknown", "compatible", "matched")


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
