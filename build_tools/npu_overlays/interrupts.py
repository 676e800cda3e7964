"""Interrupts: a signal that asks the process to end → an `Interrupted`, raised where it can be cleaned up after."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Interrupted(BaseException):
    """The process was asked to end.

    Args:
        number: of the signal.
        state: what the user finds now, for the last message.
    """

    def __init__(self, number: int, state: str = "") -> None:
        self.number = number
        self.state = state
        super().__init__(number)

    @property
    def exit_code(self) -> int:
        """What a shell gives for a process that a signal ended."""
        return 128 + self.number


class _Handler:
    """Raises at the first signal, at once or when it is let go; a second one ends the process there and then."""

    def __init__(self) -> None:
        self._holding = False
        self._pending = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  # Python's signature
        signal.signal(number, signal.SIG_DFL)
        if self._holding:
            self._pending = number
            return
        sys.unraisablehook = _unraisable
        raise Interrupted(number)

    @contextmanager
    def holding(self, state: str) -> Iterator[None]:
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
            pending, self._pending = self._pending, 0
        if pending:
            raise Interrupted(pending, state)


_HANDLER = _Handler()


def _unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Pass over what finalisers fail at once the process is to end, but for an interrupt: that one comes again."""
    if isinstance(unraisable.exc_value, Interrupted):
        number = unraisable.exc_value.number
        signal.signal(number, _HANDLER)
        # Not here, where it would be lost as well.
        threading.Timer(0.01, os.kill, (os.getpid(), number)).start()


def held(state: str) -> AbstractContextManager[None]:
    """Finish what must not be done by half before a signal counts; `state` is what the user finds then."""
    return _HANDLER.holding(state)


@contextmanager
def undisguised(state: str = "") -> Iterator[None]:
    """Raise the `Interrupted` behind an error: a library that cleans up after it may fail at that, as zipfile does.

    Args:
        state: what the user finds then, where the interrupt does not say it.
    """
    try:
        yield
    except (Exception, Interrupted) as error:
        behind: BaseException | None = error
        while behind is not None and not isinstance(behind, Interrupted):
            behind = behind.__cause__ or behind.__context__
        if behind:
            raise Interrupted(behind.number, behind.state or state) from None
        raise


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise `Interrupted` where the process is asked to end while the block runs.

    What the caller has ignored, as ``nohup`` does, stays ignored. In a thread nothing changes: Python sends
    signals to the main one only.
    """
    before = {}
    with suppress(ValueError):
        for number in (getattr(signal, name) for name in _NAMES if hasattr(signal, name)):
            if signal.getsignal(number) in {signal.SIG_DFL, signal.default_int_handler}:
                before[number] = signal.signal(number, _HANDLER)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
