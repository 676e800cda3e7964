"""Trees: the upstream source as it was pinned, and the same source with the overlay applied.

Paths are always those of the upstream repository, POSIX style (``src/transformers/__init__.py``), for every kind of
source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from npu_overlays.files import write_file

SourceKind = Literal["git", "archive"]
# What a user asks for: one of them, or whichever is available.
Mode = Literal["auto", "git", "archive"]

# The licence files of build backends by default.
_LICENCES = ("LICEN[CS]E*", "COPYING*", "NOTICE*", "AUTHORS*")


def is_licence(path: str) -> bool:
    """Return whether a file at the top of a repository counts as a licence by default."""
    return "/" not in path and any(fnmatchcase(path, glob) for glob in _LICENCES)


def blob_id(content: bytes) -> str:
    """Return git's object id (SHA-1, hex) of a blob with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Source:
    """The source of a build, as the wheel records it.

    Holds nothing that depends on the machine: a mirror or a local clone that
    served the pinned commit is simply ``git``, because the commit id verifies the bytes.
    """

    kind: SourceKind  # ``git`` (the commit's blobs) or ``archive`` (a release archive whose sha256 is pinned)
    repository: str  # the pinned repository URL
    commit: str  # the full pinned commit; empty where a release alone is pinned
    archive: str = ""  # file name of the archive, for kind ``archive``
    sha256: str = ""  # the archive's sha256, for kind ``archive``


@dataclass(frozen=True, kw_only=True)
class FileEntry:
    """One regular file of a tree: its git blob id and whether it is executable."""

    blob: str
    executable: bool = False


@dataclass(frozen=True, kw_only=True)
class SourceTree:
    """The pinned upstream files."""

    # every regular file, by repository path, sorted. Symbolic links and submodules are not listed.
    entries: Mapping[str, FileEntry]
    # the bytes of each, in memory (deflated, where the cache had them so) once they were found to be what the pin
    # names: the checked bytes are those that are merged and shipped, even if the cache changes afterwards
    content: Mapping[str, bytes] = field(repr=False, compare=False)
    source: Source  # where the bytes came from
    # repository paths of symbolic links and submodules (they cannot be shipped in a wheel)
    links: frozenset[str] = frozenset()
    metadata: str = ""  # for an archive, the text of its ``METADATA`` or ``PKG-INFO``; empty for git
    entry_points: str = ""  # for an archive wheel, the text of its ``entry_points.txt``; empty otherwise
    wheel: str = ""  # likewise, the text of its ``WHEEL``, which says for which Pythons and platforms it is
    beside: tuple[str, ...] = ()  # for an archive wheel, what it installs beside the shipped packages
    # for an archive wheel, its bills of materials by file name
    sboms: Mapping[str, bytes] = field(default_factory=dict)
    # likewise, its licence files whose names in its metadata are paths among its shipped files
    licences: Mapping[str, bytes] = field(default_factory=dict)

    def __contains__(self, path: object) -> bool:
        return path in self.entries

    def read(self, path: str) -> bytes:
        """Return the bytes of one file; raises `KeyError` for a path the tree does not hold."""
        if path not in self.entries:
            raise KeyError(path)
        return self.content[path]

    def licence(self, name: str) -> bytes | None:
        """Return the bytes of a licence file by its repository path or its name in upstream's metadata, or None."""
        return self.licences.get(name, self.read(name) if name in self else None)

    def unpack(self, folder: Path) -> None:
        """Write every file below `folder`, for programs that want to see them there."""
        for path, entry in self.entries.items():
            write_file(folder / path, self.read(path), executable=entry.executable)


@dataclass(frozen=True, kw_only=True)
class PatchedTree:
    """A source tree with an overlay applied."""

    upstream: SourceTree  # the tree before
    # new content by repository path; ``None`` where the file was deleted
    changed: Mapping[str, bytes | None] = field(default_factory=dict)
    # paths of `changed` that must be executable although upstream's file is not, or is absent
    executable: frozenset[str] = frozenset()

    def changed_by(self, changed: Mapping[str, bytes | None], modes: Mapping[str, bool]) -> PatchedTree:
        """Return this tree with more files changed; `modes` has the executable bit of files whose mode changes."""
        gone = {path for path, content in changed.items() if content is None}
        executable = (self.executable - gone - modes.keys()).union(path for path, now in modes.items() if now)
        return replace(self, changed={**self.changed, **changed}, executable=executable)

    def before(self, path: str) -> bytes | None:
        """Return upstream's bytes of `path`, or None if upstream has no such file."""
        return self.upstream.read(path) if path in self.upstream else None

    def after(self, path: str) -> bytes | None:
        """Return the patched bytes of `path`, or None if the patched tree has no such file."""
        return self.changed[path] if path in self.changed else self.before(path)

    def paths(self) -> list[str]:
        """Return every path of the patched tree, sorted."""
        kept = self.upstream.entries.keys() - self.changed.keys()
        written = [path for path, content in self.changed.items() if content is not None]
        return sorted([*kept, *written])

    def unpack(self, folder: Path) -> None:
        """Write every file below `folder`."""
        for path in self.paths():
            write_file(folder / path, self.after(path) or b"", executable=self.is_executable(path))

    def is_executable(self, path: str) -> bool:
        """Return whether the file is to be installed executable."""
        entry = self.upstream.entries.get(path)
        return path in self.executable or (entry is not None and entry.executable)
