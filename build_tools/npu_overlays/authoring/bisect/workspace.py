"""Workspace: a folder in which a command may do what it likes, made to hold one tree after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from npu_overlays.sources.tree import PatchedTree

# What tells that a file is still the one that was written: nobody can set the last of them.
_Stamp: TypeAlias = tuple[int, int, int, int]
_Files: TypeAlias = Mapping[str, tuple[bytes | None, bool]]
_USABLE = 0o700


class Workspace:
    """A folder that is made to hold trees.

    Args:
        folder: an empty one, or none yet.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state: _Files = {}
        self._stamps: dict[str, _Stamp] = {}

    def hold(self, tree: PatchedTree) -> None:
        """Make the folder hold a tree and nothing else; only files that differ are written.

        Nothing is written or removed outside the folder, whatever links were put into it.
        """
        wanted: _Files = {path: (tree.after(path), tree.is_executable(path)) for path in tree.paths()}
        if self._folder.is_symlink() or not self._folder.is_dir():
            self._folder.unlink(missing_ok=True)
            self._folder.mkdir()
        kept = set(self._clean(self._folder, "", wanted))
        for path, (content, executable) in wanted.items():
            if path not in kept:
                file = self._folder / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content or b"")
                file.chmod(0o755 if executable else 0o644)
                self._stamps[path] = _stamp(file.stat())
        self._state = wanted

    def _clean(self, folder: Path, before: str, wanted: _Files) -> Iterator[str]:
        """Remove everything that is not as it was written and still wanted so, and yield the paths of the rest."""
        if folder.stat().st_mode & _USABLE != _USABLE:
            folder.chmod(0o755)
        with os.scandir(folder) as listed:
            entries = list(listed)
        for entry in entries:
            path = f"{before}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from self._clean(Path(entry.path), f"{path}/", wanted)
                with suppress(OSError):  # something is kept in it
                    Path(entry.path).rmdir()
            elif self._is_current(path, entry, wanted):
                yield path
            else:
                Path(entry.path).unlink()

    def _is_current(self, path: str, entry: os.DirEntry[str], wanted: _Files) -> bool:
        is_wanted = path in wanted and wanted[path] == self._state.get(path)
        return is_wanted and _stamp(entry.stat(follow_symlinks=False)) == self._stamps.get(path)


def _stamp(found: os.stat_result) -> _Stamp:
    return found.st_mode, found.st_ino, found.st_size, found.st_ctime_ns
