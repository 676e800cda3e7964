"""Reports: how results, progress and problems reach a person or a machine."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from rich.console import Console as RichConsole
from rich.status import Status
from rich.text import Text

from npu_recipes.errors import Problem, RecipeError
from npu_summary.stream import printable


class _Plain(RichConsole):
    """A console that leaves a reader who has gone to its caller; rich would end the process with 1.

    It prints lines whole and ignores COLUMNS and LINES: at a width of 0 rich would print nothing.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
        super().__init__(stderr=stderr, highlight=False, soft_wrap=True, _environ=environment)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Console:
    """Standard output for results, standard error for progress and problems.

    Names and values are other people's text: no character is printed that a terminal obeys instead of showing it. Rich
    leaves colours out where NO_COLOR is set or nobody looks.

    Args:
        json_output: whether the result is JSON, and problems too.
    """

    def __init__(self, *, json_output: bool) -> None:
        self._json = json_output
        self._out = _Plain()
        self._err = _Plain(stderr=True)
        self._status: Status | None = None

    def step(self, message: str) -> None:
        """Show on a terminal what is being done now, in a line that lasts until a result or a problem is printed."""
        text = Text(printable(message), style="dim")
        if self._status is not None:
            self._status.update(text)
        elif self._err.is_terminal:
            self._status = self._err.status(text)
            self._status.start()

    def close(self) -> None:
        """Clear the line of the current step."""
        if self._status is not None:
            self._status.stop()
        self._status = None

    def line(self, text: str = "", *, style: str = "") -> None:
        """Print one line of a result."""
        self._result(lambda: self._out.print(Text(printable(text), style=style)))

    def paragraph(self, text: str, *, indent: int, width: int) -> None:
        """Print a text of several lines, broken at spaces."""
        margin = " " * indent
        for line in textwrap.wrap(text, width, initial_indent=margin, subsequent_indent=margin):
            self.line(line)

    def fact(self, name: str, text: str, *, width: int) -> None:
        """Print a name and beside it a text, broken at spaces only."""
        start = f"  {name:<8}  "
        margin = " " * len(start)
        wrapper = textwrap.TextWrapper(width, start, margin, break_long_words=False, break_on_hyphens=False)
        for line in wrapper.wrap(text):
            self.line(line)

    def notice(self, text: str) -> None:
        """Print something worth knowing, apart from the result."""
        self._tell(Text(printable(text), style="yellow"))

    def json(self, value: Any) -> None:  # any JSON value
        """Print a result as JSON; ASCII only, so that no encoding can spoil it."""
        self._result(lambda: _write(json.dumps(value, indent=2, allow_nan=False) + "\n"))

    def table(self, headings: Iterable[str], rows: Iterable[Iterable[str]], styles: Iterable[str] = ()) -> None:
        """Print a table without borders, as wide as its content: a name cut short could not be copied."""
        lines = [tuple(headings), *(tuple(map(printable, row)) for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        looks = ["bold", *styles, *[""] * len(lines)]
        for cells, style in zip(lines, looks, strict=False):
            text = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
            self.line(text.rstrip(), style=style)

    def problems(self, problems: Iterable[Problem]) -> None:
        """Print what went wrong, on standard error."""
        self.close()
        listed = list(problems)
        if self._json:
            text = json.dumps({"problems": [asdict(one) for one in listed]}, indent=2)
            self._tell(Text(text))
            return
        for problem in listed:
            text = "\n".join(map(printable, str(problem).split("\n")))
            self._tell(Text.assemble(("error: ", "bold red"), text))

    def _tell(self, text: Text) -> None:
        """Print to standard error; where that cannot be written, nobody can be told."""
        try:
            self._err.print(text)
        except OSError:
            _discard(sys.stderr)

    def _result(self, write: Callable[[], None]) -> None:
        """Write a part of the result; raises `RecipeError` where it is lost although somebody waits for it."""
        self.close()
        try:
            write()
        except BrokenPipeError:
            _discard(sys.stdout)
        except OSError as error:
            _discard(sys.stdout)
            what = f"cannot be written: {error.strerror or error}"
            raise RecipeError(
                Problem(where="standard output", what=what, fix="redirect it to a place that can be written")
            ) from error


def _write(text: str) -> None:
    if sys.stdout is not None:  # closed by the caller: `>&-`
        sys.stdout.write(text)
        sys.stdout.flush()


def _discard(stream: Any) -> None:
    """Point a stream at nothing, so that Python's own flush at exit stays silent."""
    with suppress(OSError, ValueError, AttributeError):  # no file, hence nothing to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
