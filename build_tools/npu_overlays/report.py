"""Reports: how results, progress and problems reach a person or a machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from rich.console import Console as RichConsole
from rich.status import Status
from rich.text import Text

from npu_overlays.errors import Problem


class Console:
    """Standard output for results, standard error for progress and problems.

    Progress shows on a terminal only; rich leaves colours out where NO_COLOR is
    set or nobody looks.

    Args:
        json_output: whether the result is JSON, and problems too.
    """

    def __init__(self, *, json_output: bool) -> None:
        self._json = json_output
        self._out = RichConsole(highlight=False, soft_wrap=True)
        self._err = RichConsole(stderr=True, highlight=False, soft_wrap=True)
        self._status: Status | None = None

    def __enter__(self) -> Console:
        if self._err.is_terminal:
            self._status = self._err.status("")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def step(self, message: str) -> None:
        """Show what is being done now, where somebody looks."""
        if self._status is not None:
            self._status.update(Text(message))

    def line(self, text: str, *, style: str = "") -> None:
        """Print one line of a result."""
        self._out.print(Text(text, style=style))

    def notice(self, text: str) -> None:
        """Print something worth knowing, apart from the result."""
        self._err.print(Text(text, style="yellow"))

    def raw(self, text: str) -> None:
        """Print a result as it is, in UTF-8 whatever the terminal says."""
        if self._status is not None:
            self._status.stop()
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", errors="surrogateescape"))
        sys.stdout.flush()

    def json(self, value: Any) -> None:  # whatever JSON holds
        """Print a result as JSON."""
        self.raw(json.dumps(value, ensure_ascii=False, indent=2) + "\n")

    def table(self, headings: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
        """Print a table without borders, as wide as its content: a name cut short could not be copied."""
        lines = [tuple(headings), *map(tuple, rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for number, cells in enumerate(lines):
            text = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
            self.line(text.rstrip(), style="" if number else "bold")

    def problems(self, problems: Iterable[Problem]) -> None:
        """Print what went wrong, on standard error."""
        listed = list(problems)
        if self._json:
            values = [{"where": one.where, "what": one.what, "fix": one.fix} for one in listed]
            print(json.dumps({"problems": values}, ensure_ascii=False, indent=2), file=sys.stderr)  # noqa: T201  # this is the place that prints
            return
        for problem in listed:
            self._err.print(Text.assemble(("error: ", "bold red"), str(problem)))
