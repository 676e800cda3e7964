"""Digests: a store and paths → the sha256 of each file, or why it cannot be read."""

from __future__ import annotations

import hashlib

from ..stores import Archive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..stores import Store

_CHUNK = 64
_THREADS = 8  # hides the latency of network file systems; on a local disk it changes little


def digests(store: Store, paths: Iterable[str]) -> dict[str, str | OSError]:
    """Return the sha256 of each file, hex, or why it cannot be read."""
    listed = list(paths)
    if isinstance(store, Archive):
        return dict(_digests(store, listed))
    from concurrent.futures import ThreadPoolExecutor

    chunks = [listed[start : start + _CHUNK] for start in range(0, len(listed), _CHUNK)]
    with ThreadPoolExecutor(_THREADS) as pool:
        return {path: found for part in pool.map(lambda chunk: _digests(store, chunk), chunks) for path, found in part}


def _digests(store: Store, paths: Iterable[str]) -> list[tuple[str, str | OSError]]:
    found: list[tuple[str, str | OSError]] = []
    for path in paths:
        try:
            found.append((path, hashlib.sha256(store.read(path)).hexdigest()))
        except OSError as error:
            found.append((path, error))
    return found
