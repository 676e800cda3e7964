"""Downloads: a pinned archive → its bytes, from the places where the user's own pip looks.

No host is named here. ``pip config`` and the ``PIP_*`` variables choose the index, mirror, proxy or folder; the pinned
digest verifies the archive. pip itself does not fetch it: it would run the setup.py of an sdist, and refuses wheels for
another Python or platform.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from npu_overlays.errors import Problem, SourceError
from npu_overlays.process import without_credentials
from npu_overlays.sources.cache import Progress
from npu_overlays.sources.package_index import Index, indexes
from npu_overlays.sources.pin import Archive
from npu_overlays.sources.silent_hosts import longer

if TYPE_CHECKING:
    from unearth import Link

FIX = "see that `pip config list` names an index that has it (PIP_INDEX_URL, PIP_FIND_LINKS, PIP_NO_INDEX, a proxy)"
_NO_SUCH_PAGE = ("Client Error(404)", "Client Error(410)")
_TOLD = 2.0
_CHUNK = 1 << 16


def download(archive: Archive, progress: Progress) -> bytes:
    """Download one archive and return its bytes, whose digest is the pinned one.

    Args:
        archive: what to download.
        progress: told which index is asked, and how far it is.

    Raises:
        SourceError: pip is missing or its configuration cannot be read, no index has such a file, or only
            another one under that name.
    """
    with indexes(archive.file) as places:
        found: list[str] = []
        wrong: dict[str, list[str]] = {}
        for index in places:
            progress(f"{archive.distribution} {archive.version}: looking for {archive.file} in {index.shown}")
            try:
                with noted() as notes:
                    content, others = _from(index, archive, progress)
            except failures() as error:
                found.append(f"{index.shown}: {explained(error)}")
                continue
            if content is not None:
                return content
            for digest in others:
                wrong.setdefault(digest, []).append(index.shown)
            found.append(f"{index.shown}: {'; '.join(dict.fromkeys(notes)) or 'has no such file'}")
    raise SourceError(_problem(archive, found, wrong))


def _problem(archive: Archive, found: list[str], wrong: dict[str, list[str]]) -> Problem:
    if wrong:
        given = (f"{' and '.join(indexes)} gave {digest}" for digest, indexes in wrong.items())
        what = f"sha256 {archive.sha256} is pinned, but {', '.join(given)}"
        return Problem(where=archive.file, what=what, fix="use an index with upstream's own file, or correct the pin")
    if not found:
        return Problem(where=archive.file, what="pip's configuration names no index and no folder (no-index)", fix=FIX)
    silent = any("no answer" in line for line in found)
    return Problem(where=archive.file, what="; ".join(found), fix=f"{FIX}; {longer()}" if silent else FIX)


def _from(index: Index, archive: Archive, progress: Progress) -> tuple[bytes | None, list[str]]:
    """Return the archive, or the digests of other files that an index has under its name."""
    others: list[str] = []
    for link in index.links(archive.distribution):
        known = (link.hash_option or {}).get("sha256", [archive.sha256])
        if link.filename != archive.file:
            continue
        if archive.sha256 in known:
            content = fetched(index, link, archive, progress)
            known = [hashlib.sha256(content).hexdigest()]
            if known == [archive.sha256]:
                return content, []
        others += known
    return None, others


def fetched(index: Index, link: Link, archive: Archive, progress: Progress) -> bytes:
    """Return the bytes behind a link; raises one of `failures`."""
    progress(f"{archive.distribution} {archive.version}: downloading {archive.file} from {index.shown}")
    content = bytearray()
    last = time.monotonic()
    with index.session.get_stream(link.normalized) as response:
        response.raise_for_status()
        for chunk in response.iter_bytes(_CHUNK):
            content += chunk
            if time.monotonic() - last >= _TOLD:
                last = time.monotonic()
                progress(f"{archive.file}: {len(content) / 1e6:.1f} MB from {index.shown}")
    return bytes(content)


def failures() -> tuple[type[Exception], ...]:
    """Return what asking an index may raise."""
    import httpx2  # noqa: PLC0415  # 0.2 s, and of use only for what is not in the cache

    return (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError)


def explained(error: Exception) -> str:
    """Return the message of an index that failed, without credentials."""
    import httpx2  # noqa: PLC0415  # as above

    if isinstance(error, httpx2.TimeoutException):
        return "no answer"
    said = without_credentials(" ".join(str(error).split()))
    return said or type(error).__name__


@contextmanager
def noted() -> Iterator[list[str]]:
    """Collect the warnings in `unearth`'s log about pages it could not read; a missing project page is not one."""
    notes: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said = record.getMessage()
            if not any(answer in said for answer in _NO_SUCH_PAGE):
                notes.append(without_credentials(said))

    logger, handler = logging.getLogger("unearth"), Handler(logging.WARNING)
    logger.addHandler(handler)
    propagate, logger.propagate = logger.propagate, False
    try:
        yield notes
    finally:
        logger.propagate = propagate
        with suppress(ValueError):
            logger.removeHandler(handler)
