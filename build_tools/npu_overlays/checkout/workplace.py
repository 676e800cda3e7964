"""Workplace: a folder in which a command may do what it likes → the same folder, holding one tree after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from npu_overlays.sources.tree import PatchedTree

# What tells that a file is still the one that was written: nobody can set the last of them.
_Stamp = tuple[int, int, int, int]
_Wanted = Mapping[str, tuple[bytes | None, bool]]
_USABLE = 0o700


class Workplace:
    """A folder that is made to hold trees.

    Args:
        folder: an empty one, or none yet.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state: _Wanted = {}
        self._stamps: dict[str, _Stamp] = {}

    def hold(self, tree: PatchedTree) -> None:
        """Make the folder hold a tree and nothing else; only what is otherwise there is written.

        Nothing is written or removed outside the folder, whatever links were put into it.
        """
        wanted: _Wanted = {path: (tree.after(path), tree.is_executable(path)) for path in tree.paths()}
        if self._folder.is_symlink() or not self._folder.is_dir():
            self._folder.unlink(missing_ok=True)
            self._folder.mkdir()
        standing = set(self._standing(self._folder, "", wanted))
        for path, (content, executable) in wanted.items():
            if path not in standing:
                self._write(path, content or b"", executable=executable)
        self._state = wanted

    def _standing(self, folder: Path, before: str, wanted: _Wanted) -> Iterator[str]:
        """Yield what is still as it was written and is wanted so; removes everything else."""
        if folder.stat().st_mode & _USABLE != _USABLE:
            folder.chmod(0o755)
        with os.scandir(folder) as listed:
            entries = list(listed)
        for entry in entries:
            path = f"{before}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from self._standing(Path(entry.path), f"{path}/", wanted)
                with suppress(OSError):  # where something stands in it
                    Path(entry.path).rmdir()
            elif self._stands(path, entry, wanted):
                yield path
            else:
                Path(entry.path).unlink()

    def _stands(self, path: str, entry: os.DirEntry[str], wanted: _Wanted) -> bool:
        is_wanted = path in wanted and wanted[path] == self._state.get(path)
        return is_wanted and _stamp(entry.stat(follow_symlinks=False)) == self._stamps.get(path)

    def _write(self, path: str, content: bytes, *, executable: bool) -> None:
        file = self._folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o755 if executable else 0o644)
        self._stamps[path] = _stamp(file.stat())


def _stamp(found: os.stat_result) -> _Stamp:
    return found.st_mode, found.st_ino, found.st_size, found.st_ctime_ns
