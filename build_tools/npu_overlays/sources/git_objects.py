"""Git objects: a bare repository and a commit id → the commit's files, every byte of them checked against that id.

Git ids are digests of digests: the commit's id covers its tree, a tree's id the ids in it, a blob's id its bytes. All
are computed here from the bytes git returns, so the repository in the cache need not be trusted.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from npu_overlays import git
from npu_overlays.process import ProcessError

_BATCH = 1000  # blobs read at a time: bounds memory, costs a few processes per commit
_TREE = "40000"


class DamagedError(Exception):
    """The repository lacks an object, or holds another under its id."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One file, symbolic link or submodule of a commit."""

    mode: str
    blob: str
    path: str

    @property
    def executable(self) -> bool:
        """Whether git has the file as executable."""
        return self.mode == "100755"

    @property
    def regular(self) -> bool:
        """Whether it is a file."""
        return self.mode.startswith("100")


def list_commit(repository: Path, commit: str) -> list[Listed]:
    """Return every entry of the commit's tree, at all depths, by path; raises `DamagedError`."""
    (raw,) = read(repository, "commit", [commit])
    root = raw.partition(b"\n")[0].removeprefix(b"tree ").decode("ascii", errors="replace")
    try:
        return sorted(_walk(_Trees(repository, commit), root, ""), key=lambda item: item.path)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"a tree of {commit} cannot be read: {error}") from error


class _Trees:
    """The tree objects of a commit, each checked against its id."""

    def __init__(self, repository: Path, commit: str) -> None:
        # Which ids there are is git's word, so that they are read together; one not among them is read singly.
        output = _git(repository, "ls-tree", "-r", "-t", "-d", "-z", "--full-tree", commit)
        heads = [line.partition(b"\t")[0].decode().split(" ") for line in output.split(b"\0") if line]
        ids = sorted({head[2] for head in heads if head[1] == "tree"})
        self._repository = repository
        self._raw = dict(zip(ids, read(repository, "tree", ids), strict=True))

    def __getitem__(self, tree: str) -> bytes:
        if tree not in self._raw:
            (self._raw[tree],) = read(self._repository, "tree", [tree])
        return self._raw[tree]


def _walk(trees: _Trees, tree: str, folder: str) -> Iterator[Listed]:
    raw, at = trees[tree], 0
    while at < len(raw):
        end = raw.index(b"\0", at)
        mode, _, name = raw[at:end].partition(b" ")
        at = end + 21
        found = Listed(mode=mode.decode(), blob=raw[end + 1 : at].hex(), path=folder + os.fsdecode(name))
        if found.mode == _TREE:
            yield from _walk(trees, found.blob, f"{found.path}/")
        else:
            yield found


def read(repository: Path, kind: str, ids: Sequence[str]) -> Iterator[bytes]:
    """Yield the content of each object, in order, each checked against its id; raises `DamagedError`."""
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        request = "".join(f"{one}\n" for one in batch).encode()
        output = memoryview(_git(repository, "cat-file", "--batch", "--buffer", stdin=request))
        at = 0
        for one in batch:
            end = bytes(output[at : at + 200]).find(b"\n") + at
            header = bytes(output[at : max(at, end)]).decode(errors="replace").split(" ")
            if len(header) != 3 or header[1] != kind or not header[2].isdigit():  # noqa: PLR2004  # id, kind, size
                raise DamagedError(f"{kind} {one}: {' '.join(header) or 'no answer'}")
            content = bytes(output[end + 1 : end + 1 + int(header[2])])
            stated = f"{kind} {len(content)}\0".encode()
            if hashlib.sha1(stated + content, usedforsecurity=False).hexdigest() != one:
                raise DamagedError(f"{kind} {one} is another object")
            yield content
            at = end + 1 + len(content) + 1


def _git(repository: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    try:
        return git.alone(f"--git-dir={repository}", *arguments, stdin=stdin)
    except ProcessError as error:
        raise DamagedError(error.output) from error


class Blobs(Mapping[str, bytes]):
    """The content of a commit's files by path, checked against their ids when read, and then kept.

    Args:
        repository: holds them.
        ids: the blob id of every path.
        first: the paths to read at once; the others are read together, when the first of them is needed.
        damaged: returns the error to raise for an object that cannot be read.

    Raises:
        DamagedError: one of `first` cannot be read.
    """

    def __init__(
        self, repository: Path, ids: Mapping[str, str], first: Sequence[str], damaged: Callable[[str], Exception]
    ) -> None:
        self._repository = repository
        self._ids = ids
        self._damaged = damaged
        self._content = self._read(first)

    def _read(self, paths: Sequence[str]) -> dict[str, bytes]:
        return dict(zip(paths, read(self._repository, "blob", [self._ids[path] for path in paths]), strict=True))

    def __getitem__(self, path: str) -> bytes:
        if path in self._ids and path not in self._content:
            try:
                self._content |= self._read([one for one in self._ids if one not in self._content])
            except DamagedError as error:
                raise self._damaged(str(error)) from error
        return self._content[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)
