"""Digests: a store and paths → the sha256 of each file, or why it cannot be read."""

from __future__ import annotations

import hashlib
from threading import Thread

from ..stores import Archive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..stores import Store

_THREADS = 4  # hide the latency of network file systems; on a local disk more of them only wait for each other


def digests(store: Store, paths: Iterable[str]) -> dict[str, str | OSError]:
    """Return the sha256 of each file, hex, or why it cannot be read."""
    listed = list(paths)
    if isinstance(store, Archive):
        return dict(_digests(store, listed))
    # Not by concurrent.futures, whose import takes as long as reading hundreds of files.
    found: dict[str, str | OSError] = {}
    shares = [listed[first::_THREADS] for first in range(_THREADS)]
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
