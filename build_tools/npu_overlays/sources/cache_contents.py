"""Cache contents: the cache folder → its entries, and their removal.

Only entries with names of the cache are touched: its folder may contain other things too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from npu_overlays.sources import cache as caching
from npu_overlays.sources import commits, deflated_members, histories, pinned_archives
from npu_overlays.sources.cache_trust import check
from npu_overlays.sources.pin import Pin

_COMMIT = re.compile(r"([0-9a-f]{40})\.git")
_HISTORY = re.compile(r"([a-z0-9-]+)\.git")
_ARCHIVE = re.compile(r"([0-9a-f]{64})")
_MEMBERS = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})-[0-9a-f]{12}")
_MERGED = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})-[0-9a-f]{8}-[0-9a-f]{24}")

Kind: TypeAlias = Literal["commit", "archive", "history", "deflated", "merged"]
_ROOMS: tuple[tuple[Kind, str, re.Pattern[str]], ...] = (
    ("commit", "commits", _COMMIT),
    ("archive", "archives", _ARCHIVE),
    ("history", "histories", _HISTORY),
    ("deflated", "members", _MEMBERS),
    ("merged", "merged", _MERGED),
)


@dataclass(frozen=True, kw_only=True)
class Holding:
    """One upstream source in the cache."""

    # a commit's repository, a release archive, the history of a project, the files of a commit or archive as wheels
    # hold them, or what was merged into them
    kind: Kind
    identity: str  # the commit id, the archive's sha256, or the project's name
    path: Path  # where it lies
    size: int  # bytes of its files


def holdings(cache: Path) -> list[Holding]:
    """Return what the cache holds, the largest first; raises `OutputError` if it cannot be read."""
    found: list[Holding] = []
    with caching.using(cache):
        for kind, room, name in _ROOMS:
            if not (cache / room).is_dir():
                continue
            for path in sorted((cache / room).iterdir()):
                if match := name.fullmatch(path.name):
                    found.append(Holding(kind=kind, identity=match[1], path=path, size=_size(path)))
    return sorted(found, key=lambda one: (-one.size, one.identity, one.kind))


def places(pin: Pin, cache: Path) -> set[Path]:
    """Return where the cache keeps a pin's sources, whether or not they exist."""
    found: set[Path] = set()
    identities = [one.sha256 for one in pin.archives]
    for sha256 in identities:
        found.add(pinned_archives.kept(cache, sha256))
    if pin.commit:
        found.add(commits.kept(cache, pin.commit))
        identities.append(pin.commit)
    if pin.repository:
        found.add(histories.kept(cache, pin.project))
    for identity in identities:
        found.add(deflated_members.kept(cache, identity, pin))
        found.update((cache / "merged").glob(f"{identity}-*"))
    return found


def give_back(cache: Path, gone: Iterable[Holding]) -> None:
    """Remove holdings; a running build fetches again what it needs.

    Raises:
        OutputError: one cannot be removed, or others can write to it.
    """
    for one in gone:
        check(cache, one.path)
        caching.discard(cache, one.path)


def _size(path: Path) -> int:
    return sum(one.lstat().st_size for one in (path, *path.rglob("*")) if not one.is_dir())
