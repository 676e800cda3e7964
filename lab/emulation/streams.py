"""Streams: queues of work on the emulated NPU, where everything is done by the time it is queued.

Sharding (FSDP2) orders its work with streams and events of the device; here
they only have to be there, and to say which of them is the current one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Event:
    """A point in a stream's work: always reached."""

    def __init__(self, **_options: Any) -> None: ...

    def record(self, stream: Stream | None = None) -> None:
        """Stand at the end of what is queued."""

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream wait for this."""

    def synchronize(self) -> None:
        """Let the host wait for this."""

    def query(self) -> bool:
        """Return whether this is reached."""
        return True


class Stream:
    """A queue of work: always done."""

    def __init__(self, **_options: Any) -> None: ...

    def wait_stream(self, stream: Stream) -> None:
        """Wait for all another stream has."""

    def wait_event(self, event: Event) -> None:
        """Wait for an event."""

    def record_event(self, event: Event | None = None) -> Event:
        """Return an event at the end of what is queued."""
        return event or Event()

    def synchronize(self) -> None:
        """Let the host wait for all of it."""

    def query(self) -> bool:
        """Return whether all is done."""
        return True


_default = Stream()
_open: list[Stream] = []


def current_stream(device: Any = None) -> Stream:  # noqa: ARG001  # there is one device
    """Return the stream that gets what is queued now."""
    return _open[-1] if _open else _default


@contextmanager
def stream(chosen: Stream | None) -> Iterator[None]:
    """Make a stream the current one inside the block."""
    _open.append(chosen or current_stream())
    try:
        yield
    finally:
        _open.pop()
