"""Report: subjects and findings → text, JSON and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from .. import provenance
from ..frozen import Frozen
from ..plurals import plural
from ..reports import Report
from ..stream import printable
from .findings import Finding
from .subjects import Subject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Status = Literal["intact", "damaged", "unknown"]

SCHEMA = 1
EXIT_CODES = {"intact": 0, "damaged": 1, "unknown": 2}
_STATES = {"intact": "intact", "damaged": "NOT INTACT", "unknown": "could not tell"}
_SHOWN = 10


class Verification(Frozen, Report):
    """The outcome of one verification."""

    subjects: tuple[Subject, ...]  # what was verified
    findings: tuple[Finding, ...]
    problems: tuple[str, ...] = ()  # why nothing, or not all, could be verified

    @property
    def status(self) -> Status:
        """The worst that was found, or that something could not be told."""
        found = _status(self.findings)
        return "unknown" if found == "intact" and self.problems else found

    @property
    def exit_code(self) -> int:
        """0 intact, 1 not intact, 2 could not tell."""
        return EXIT_CODES[self.status]

    def commands(self) -> list[str]:
        """Return every repair once, in an order that works: removals first, our wheels last."""
        ranks: dict[str, int] = {}
        for finding in self.findings:
            ranks.update((one.command, one.rank) for one in finding.repairs)
        return sorted(ranks, key=ranks.__getitem__)

    def value(self) -> dict[str, Any]:
        """Return what `to_json` renders."""
        findings = []
        for finding in self.findings:
            findings.append({**vars(finding), "repairs": [repair.command for repair in finding.repairs]})
        return {
            "schema": SCHEMA,
            "status": self.status,
            "python": sys.executable,
            "distributions": list(map(_distribution, self.subjects)),
            "findings": findings,
            "problems": list(self.problems),
            "repairs": self.commands(),
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines for people, in which no file's name can play a terminal a trick."""
        return map(printable, self._lines())

    def _lines(self) -> Iterator[str]:
        for subject in self.subjects:
            found = [finding for finding in self.findings if finding.distribution == subject.name]
            state = _STATES[_status(found)]
            files = plural(len(subject.files), "file")
            yield f"{subject.name} {subject.version}: {files}, {state} ({subject.store.root})"
            if subject.changes:
                yield f"  {provenance.made_of(subject.changes)}"
            for finding in found:
                yield from _lines(finding)
        for problem in self.problems:
            yield f"error: {problem}"
        if commands := self.commands():
            yield "to repair everything, in this order, with our wheels on your index or in a folder that"
            yield "PIP_FIND_LINKS (for uv: UV_FIND_LINKS) names:"
            for command in commands:
                yield f"  {command}"


def _status(findings: Iterable[Finding]) -> Status:
    """Return the status by findings: any damage outweighs what could not be told."""
    levels = {finding.level for finding in findings}
    return "damaged" if "damage" in levels else "unknown" if "unknown" in levels else "intact"


def _lines(finding: Finding) -> Iterator[str]:
    yield f"  {'note: ' if finding.level == 'note' else ''}{finding.kind}: {finding.what}"
    if finding.level == "note":
        return
    for path in finding.paths[:_SHOWN]:
        yield f"      {path}"
    if len(finding.paths) > _SHOWN:
        yield f"      ... and {len(finding.paths) - _SHOWN} more (--json lists all)"
    if finding.cause:
        yield f"    cause: {finding.cause}"
    for repair in finding.repairs[:_SHOWN]:
        yield f"    repair: {repair.command}"
    if len(finding.repairs) > _SHOWN:
        yield f"    ... and {len(finding.repairs) - _SHOWN} more commands, which stand below"


def _distribution(subject: Subject) -> dict[str, Any]:
    changes = subject.changes
    return {
        "name": subject.name,
        "version": subject.version,
        "overlay": changes["overlay"]["name"] if changes else "",
        "upstream": changes["upstream"]["commit"] if changes else "",
        "source": provenance.source(changes) if changes else "",
        "root": subject.store.root,
        "files": len(subject.files),
        "manifest": subject.built.manifest,
    }
