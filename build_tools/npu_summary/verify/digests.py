"""Digests: a store and paths → the sha256 of each file, or why it cannot be read."""

from __future__ import annotations

import hashlib
import time
from threading import Thread

from ..stores import Archive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..stores import Store

# Threads hide the latency of network file systems; on a local disk they only wait for each other.
_THREADS = 8
_TRIED = 16  # files, which show whether there is any
_SLOW = 0.0005  # seconds a file, a few times what a local disk takes


def digests(store: Store, paths: Iterable[str]) -> dict[str, str | OSError]:
    """Return the sha256 of each file, hex, or why it cannot be read."""
    listed = list(paths)
    begun = time.monotonic()
    found = dict(_digests(store, listed[:_TRIED]))
    rest = listed[_TRIED:]
    is_slow = time.monotonic() - begun > _SLOW * _TRIED
    if not is_slow or isinstance(store, Archive):
        return found | dict(_digests(store, rest))
    # Not by concurrent.futures, whose import takes as long as reading hundreds of files.
    shares = [rest[first::_THREADS] for first in range(_THREADS)]
    threads = [Thread(target=lambda share: found.update(_digests(store, share)), args=(share,)) for share in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {path: found[path] for path in listed}


def _digests(store: Store, paths: Iterable[str]) -> list[tuple[str, str | OSError]]:
    found: list[tuple[str, str | OSError]] = []
    for path in paths:
        try:
            found.append((path, hashlib.sha256(store.read(path)).hexdigest()))
        except OSError as error:
            found.append((path, error))
    return found
