"""Reports: what a check found → text for people, JSON for machines, and what it comes to as an exit code."""

from __future__ import annotations

import json

from . import stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

UNTOLD = 2


class Report:
    """What every check gives: verification, audit, cluster run and diagnosis."""

    @property
    def exit_code(self) -> int:
        """0 all is well, 1 it is not, 2 it could not be told."""
        raise NotImplementedError

    def value(self) -> dict[str, Any]:
        """Return what `to_json` renders."""
        raise NotImplementedError

    def lines(self) -> Iterator[str]:
        """Yield the lines for people."""
        raise NotImplementedError

    def to_json(self) -> str:
        """Render for machines; ASCII only, so that no encoding can spoil it."""
        return json.dumps(self.value(), indent=2) + "\n"

    def to_text(self) -> str:
        """Render for people."""
        return "".join(f"{line}\n" for line in self.lines())


def show(report: Report, *, as_json: bool, package: str) -> int:
    """Print a report; returns its exit code, or 2 where it could not be printed."""
    if problem := stream.emit(report.to_json() if as_json else report.to_text()):
        stream.warn(f"error: {problem}", package=package)
        return UNTOLD
    return report.exit_code
