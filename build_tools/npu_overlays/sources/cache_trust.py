"""Cache trust: a place in the cache → an error if another user could change it, or it leads elsewhere.

Bytes from the cache are checked against the pin each time. This guard keeps git away from repositories that others
prepared, and our writes away from their folders. Trusted are the user, root, and the group that may write to the cache
folder itself, if the user is in it: a site's shared cache, which this tool never sets up by itself.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.errors import OutputError, Problem
from npu_overlays.sources.cache import VARIABLE


@dataclass(frozen=True, kw_only=True)
class _Trust:
    group: int | None

    @staticmethod
    def of(cache: Path) -> _Trust:
        found = cache.stat()
        shared = found.st_mode & stat.S_IWGRP and found.st_gid in {os.getegid(), *os.getgroups()}
        return _Trust(group=found.st_gid if shared else None)

    def fault(self, found: os.stat_result) -> str:
        ours = found.st_uid in (os.geteuid(), 0)
        groups = self.group is not None and found.st_gid == self.group
        if not stat.S_ISDIR(found.st_mode) and not stat.S_ISREG(found.st_mode):
            return "is a symbolic link or no file"
        if not ours and not groups:
            return f"belongs to another user (uid {found.st_uid})"
        if found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and not groups):
            return f"can be written by others (mode {stat.S_IMODE(found.st_mode):o})"
        return ""


def check(cache: Path, *places: Path) -> None:
    """Check the cache folder and some places in it, with the folders between and everything below.

    Args:
        cache: the cache folder; it may be absent, or itself be reached through links.
        places: files or folders below it; absent ones are no error.

    Raises:
        OutputError: names each unsafe place, and the command that fixes it.
    """
    if not cache.exists():
        return
    trust = _Trust.of(cache)
    problems: list[Problem] = []
    for path in _all(cache, places):
        if fault := trust.fault(path.lstat()):
            what = f"the source cache cannot be trusted: this {fault}"
            problems.append(Problem(where=str(path), what=what, fix=_fix(path, fault, cache)))
    OutputError.raise_for(problems)


def _all(cache: Path, places: tuple[Path, ...]) -> Iterator[Path]:
    yield cache.resolve()
    seen = set()
    for place in places:
        steps = [cache.joinpath(*place.relative_to(cache).parts[:depth]) for depth in range(1, len(place.parts) + 1)]
        for path in dict.fromkeys(steps):
            if path not in seen and os.path.lexists(path):
                seen.add(path)
                yield path
        if place.is_dir() and not place.is_symlink():
            yield from place.rglob("*")


def _fix(path: Path, fault: str, cache: Path) -> str:
    name = shlex.quote(str(path))
    if fault.startswith("can be written"):
        return f"chmod go-w {name}"
    if path == cache.resolve():  # another kind of file, perhaps /dev/null: we must not remove it
        return f"set {VARIABLE} to a folder of your own"
    return f"look at it, then rm -r {name}"
