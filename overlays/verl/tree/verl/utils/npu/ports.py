"""Consecutive free ports, held until they are used."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

ATTEMPTS = 64
_HIGHEST = 65535


@contextlib.contextmanager
def held_ports(count: int, *, host: str = "") -> Iterator[int]:
    """Hold `count` consecutive free TCP ports and yield the first one, or 0 for none; the block's end releases them.

    While they are held, no other process of this machine can get them, so
    several groups can look for ports at the same time.

    Raises:
        RuntimeError: there are not enough consecutive free ports.
    """
    for _ in range(ATTEMPTS):
        with contextlib.ExitStack() as held:
            first = _bind_run(held, count, host)
            if first or not count:
                yield first
                return
    raise RuntimeError(f"no {count} consecutive free ports found in {ATTEMPTS} attempts; free some, or lower the count")


def _bind_run(held: contextlib.ExitStack, count: int, host: str) -> int:
    first = 0
    for offset in range(count):
        wanted = first + offset if first else 0
        if wanted > _HIGHEST:
            return 0
        listener = held.enter_context(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET))
        try:
            listener.bind((host, wanted))
        except OSError:
            return 0
        first = first or listener.getsockname()[1]
    return first
