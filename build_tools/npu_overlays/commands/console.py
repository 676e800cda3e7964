"""Console: how results, progress and problems reach a person or a machine."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any

from rich.console import Console as RichConsole
from rich.text import Text

from npu_overlays.commands.progress_display import Lines, Spinner
from npu_overlays.errors import OutputError, Problem

# Columns of a screen, and the fewest that text is broken to.
_WIDTH = 100
_NARROWEST = 30


class _Plain(RichConsole):
    """A console that leaves a reader who has gone to its caller; rich would end the process with 1.

    It prints lines at full width and ignores COLUMNS and LINES: at a width of 0 rich would print nothing.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
        super().__init__(stderr=stderr, highlight=False, soft_wrap=True, _environ=environment)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Console:
    """Standard output for results, standard error for progress and problems.

    Text for people contains no character that a terminal obeys instead of showing it: names and reasons are other
    people's text. A reader of the result who has seen enough (``| head``) does not stop the work. Rich leaves colours
    out where NO_COLOR is set or nobody looks.

    Args:
        json_output: whether the result is JSON, and problems too.
    """

    def __init__(self, *, json_output: bool) -> None:
        self._json = json_output
        self._out = _Plain()
        self._err = _Plain(stderr=True)
        self._watch: Spinner | Lines | None = None

    def __enter__(self) -> Console:
        if self._err.is_terminal:
            self._watch = Spinner(self._err)
        elif not self._json:  # there standard error holds JSON or nothing
            self._watch = Lines(lambda message: self._tell(Text(message)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._quiet()
        self._watch = None

    def step(self, message: str) -> None:
        """Show the current step, if it lasts long enough to be seen."""
        if self._watch is not None:
            self._watch.step(readable(message))

    def line(self, text: str, *, style: str = "") -> None:
        """Print one line of a result."""
        self._quiet()
        self._result(lambda: self._out.print(Text(readable(text), style=style)))

    def notice(self, text: str) -> None:
        """Print something worth knowing, apart from the result."""
        self._quiet()
        self._tell(Text(readable(text), style="yellow"))

    def notices(self, texts: Iterable[str]) -> None:
        """Print several things worth knowing, apart from the result."""
        for text in texts:
            self.notice(text)

    def warnings(self, problems: Iterable[Problem]) -> None:
        """Print what may be wrong and stops nothing, apart from the result."""
        self._quiet()
        for problem in problems:
            self._tell(Text.assemble(("warning: ", "bold yellow"), _as_text(problem)))

    def raw(self, text: str) -> None:
        """Print a result unchanged, always in UTF-8; on a terminal, without control characters."""
        if sys.stdout is not None and sys.stdout.isatty():
            text = readable(text, keep="\n\t")
        self._quiet()
        self._result(lambda: _write(text))

    def json(self, value: Any) -> None:  # any JSON value
        """Print a result as JSON."""
        self.raw(_json(value))

    def paragraph(self, text: str, *, indent: int, style: str = "") -> None:
        """Print a sentence of a result on lines that fit a screen; words stay whole."""
        margin = " " * indent
        for line in _wrapped(" ".join(text.split()), _WIDTH - indent):
            self.line(f"{margin}{line}", style=style)

    def table(self, headings: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
        """Print a table without borders; names stay whole, and a list in the last column goes on several lines."""
        lines = [tuple(headings), *(tuple(map(readable, row)) for row in rows)]
        *widths, _ = (max(map(len, column)) for column in zip(*lines, strict=True))
        left = sum(widths) + 2 * len(widths)
        for number, (*cells, last) in enumerate(lines):
            start = "".join(f"{cell.ljust(width)}  " for cell, width in zip(cells, widths, strict=True))
            first, *more = _wrapped(last, _WIDTH - left) or [""]
            self.line(f"{start}{first}".rstrip(), style="" if number else "bold")
            for rest in more:
                self.line(" " * left + rest)

    def problems(self, problems: Iterable[Problem]) -> None:
        """Print what went wrong, on standard error."""
        self._quiet()
        listed = list(problems)
        if self._json:
            values = []
            for one in listed:
                targets = {"targets": one.targets} if one.targets else {}
                values.append({"where": one.where, "what": one.what, "fix": one.fix, **targets})
            self._tell(Text(_json({"problems": values}).rstrip("\n")))
            return
        for problem in listed:
            self._tell(Text.assemble(("error: ", "bold red"), _as_text(problem)))

    def _quiet(self) -> None:
        if self._watch is not None:
            self._watch.stop()

    def _tell(self, text: Text) -> None:
        """Print to standard error; where that cannot be written, nobody can be told."""
        try:
            self._err.print(text)
        except OSError:
            _discard(sys.stderr)

    def _result(self, write: Callable[[], None]) -> None:
        """Write a part of the result; raises `OutputError` if it is lost although somebody waits for it."""
        try:
            write()
        except BrokenPipeError:
            _discard(sys.stdout)
        except OSError as error:
            _discard(sys.stdout)
            what = f"cannot be written: {error.strerror or error}"
            raise OutputError(Problem(where="standard output", what=what, fix="send it elsewhere")) from error


def readable(text: str, *, keep: str = "") -> str:
    """Return a text with escapes for what a terminal does not show: controls, marks of direction, stray bytes.

    Args:
        text: anything, names of files as Python decodes them among it.
        keep: characters to leave as they are.
    """
    with suppress(UnicodeError):
        # Where the locale knows only ASCII, Python keeps each other byte of a name as a surrogate.
        text = text.encode("utf-8", "surrogateescape").decode("utf-8")
    if text.isprintable():
        return text
    return "".join(char if char in keep or _visible(char) else ascii(char)[1:-1] for char in text)


def _visible(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, _NARROWEST), break_long_words=False, break_on_hyphens=False)


def _as_text(problem: Problem) -> str:
    text = str(replace(problem, where=readable(problem.where)))
    return readable(text, keep="\n")


def _json(value: Any) -> str:  # any JSON value
    text = json.dumps(value, ensure_ascii=False, indent=2)
    with suppress(UnicodeError):
        text = text.encode("utf-8", "surrogateescape").decode("utf-8")
    return "".join(char if char == "\n" or _visible(char) else json.dumps(char)[1:-1] for char in text) + "\n"


def _write(text: str) -> None:
    if sys.stdout is None:  # closed by the caller: `>&-`
        return
    sys.stdout.flush()
    if hasattr(sys.stdout, "buffer"):
        sys.stdout.buffer.write(text.encode("utf-8", errors="surrogateescape"))
    else:
        sys.stdout.write(text)
    sys.stdout.flush()


def _discard(stream: Any) -> None:
    """Point a stream at nothing, so that Python's own flush at exit stays silent."""
    with suppress(OSError, ValueError, AttributeError):  # no file, hence nothing to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
