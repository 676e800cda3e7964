"""Progress display: the steps of a command → a spinner on a terminal, or a line now and then elsewhere.

What is over at once shows nothing: no spinner that hides the cursor for a
moment, no line for what took no time. What takes longer is never silent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rich.console import Console
from rich.status import Status
from rich.text import Text

SPINNER_AFTER = 0.5
LINE_AFTER = 1.0
_AGAIN_AFTER = 10.0


class Spinner:
    """On a terminal: one line with the current step, from when a command has run for half a second."""

    def __init__(self, console: Console) -> None:
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
