"""Console: how results, progress and problems reach a person or a machine.

A step that ends at once shows nothing; a longer one is never silent: a spinner shows it on a terminal, a line now and
then elsewhere.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any

from rich.console import Console as RichConsole
from rich.status import Status
from rich.text import Text

from npu_overlays.errors import OutputError, Problem

SPINNER_AFTER = 0.5
LINE_AFTER = 1.0
_AGAIN_AFTER = 10.0


class Spinner:
    """On a terminal: one line with the current step, from when a command has run for half a second."""

    def __init__(self, console: RichConsole) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._status: Status | None = None
        self._message = ""

    def step(self, message: str) -> None:
        """Show what is done now."""
        with self._lock:
            self._message = message
            if self._status is not None:
                self._status.update(Text(message))
            elif self._timer is None:
                self._timer = threading.Timer(SPINNER_AFTER, self._start)
                self._timer.daemon = True
                self._timer.start()

    def _start(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._status = self._console.status(Text(self._message))
                self._status.start()

    def stop(self) -> None:
        """Leave the line to others, until the next step."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._status is not None:
                self._status.stop()
            self._timer = self._status = None


class Lines:
    """In a pipe or a log: the current step in one line, at most one a second; a long step is repeated.

    Args:
        say: prints a line.
        after: seconds without a line before one is printed.
        again: seconds after which a step still in progress is repeated.
    """

    def __init__(self, say: Callable[[str], None], *, after: float = LINE_AFTER, again: float = _AGAIN_AFTER) -> None:
        self._say, self._after, self._again = say, after, again
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._message = ""
        self._since = self._last = 0.0
        self._told = False

    def step(self, message: str) -> None:
        """Take note of what is done now."""
        with self._changed:
            self._message, self._since, self._told = message, time.monotonic(), False
            if self._thread is None:
                self._last = self._since
                thread = threading.Thread(target=self._run, daemon=True)
                # Started first: an interrupt may come before it runs, and such a thread cannot be waited for.
                thread.start()
                self._thread = thread
            self._changed.notify()

    def stop(self) -> None:
        """Say no more until the next step."""
        with self._changed:
            thread, self._thread = self._thread, None
            self._changed.notify()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        with self._changed:
            while self._thread is threading.current_thread():
                now = time.monotonic()
                due = self._last + (self._again if self._told else self._after)
                if now >= due:
                    self._say(f"{self._message} ({now - self._since:.0f} s so far)" if self._told else self._message)
                    self._told, self._last = True, now
                else:
                    self._changed.wait(due - now)


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
        if self._err.is_terminal and not self._err.is_dumb_terminal:  # a dumb one cannot redraw a line
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
        """Print a table without borders; names stay whole, and a long last column takes several lines."""
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
            values: list[dict[str, Any]] = []
            for one in listed:
                values.append(one.as_json() | ({"targets": one.targets} if one.targets else {}))
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
            raise OutputError(
                Problem(where="standard output", what=what, fix="redirect it to a place that can be written")
            ) from error


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
