"""Progress: the step that is running → a listener, if there is one.

Context variables rather than arguments, because hatchling calls the hooks
in the middle of a build and passes nothing on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)
_SUBJECT: ContextVar[str] = ContextVar("subject", default="")


def step(message: str) -> None:
    """Tell the listener, if there is one, what is done next, in one line."""
    listener = _LISTENER.get()
    if listener is not None:
        subject = _SUBJECT.get()
        listener(f"{subject}: {message}" if subject else message)


@contextmanager
def about(subject: str) -> Iterator[None]:
    """Name what the steps told while the block runs are about, e.g. an overlay."""
    token = _SUBJECT.set(subject)
    try:
        yield
    finally:
        _SUBJECT.reset(token)


@contextmanager
def told_to(listener: Callable[[str], None]) -> Iterator[None]:
    """Send steps to `listener` while the block runs."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
