"""Revisions: one state of upstream, asked by path, and by the names that its modules define.

Content is asked for by git's blob id, so that whoever remembers an answer by it has it for every commit that holds the
same file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from npu_overlays.tree import FileEntry, Source, SourceTree, blob_id


class Names:
    """Which of some names each module defines, as functions or classes; remembered by blob.

    Args:
        wanted: the names.
    """

    def __init__(self, wanted: Iterable[str]) -> None:
        listed = sorted({name.encode() for name in wanted})
        self._pattern = re.compile(rb"\b(?:def|class)[ \t]+(" + b"|".join(map(re.escape, listed)) + rb")\b")
        self._known: dict[str, frozenset[str]] = {}
        self._none = not listed

    def note(self, blob: str, content: bytes) -> None:
        """Note what a module defines."""
        if blob not in self._known:
            found = () if self._none else self._pattern.findall(content)
            self._known[blob] = frozenset(name.decode() for name in found)

    def unknown(self, blobs: Iterable[str]) -> list[str]:
        """Return the blobs that were not noted yet."""
        return [blob for blob in dict.fromkeys(blobs) if blob not in self._known]

    def of(self, blob: str) -> frozenset[str]:
        """Return what a noted module defines."""
        return self._known.get(blob, frozenset())


@dataclass(frozen=True, kw_only=True)
class Revision:
    """One state of upstream.

    Args:
        entries: the blob id of every file, by repository path.
        contents: the bytes of a blob; of all that is asked for.
        names: what the modules define.
    """

    entries: Mapping[str, str]
    contents: Mapping[str, bytes] = field(repr=False, compare=False)
    names: Names = field(repr=False, compare=False)

    def __contains__(self, path: object) -> bool:
        return path in self.entries

    def blob(self, path: str) -> str:
        """Return the blob id of a path, or an empty text where there is no such file."""
        return self.entries.get(path, "")

    def read(self, path: str) -> bytes:
        """Return the bytes of a file; raises `KeyError` for a path that is not there."""
        return self.contents[self.entries[path]]

    @cached_property
    def _defining(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path, blob in self.entries.items():
            for name in self.names.of(blob):
                found.setdefault(name, []).append(path)
        return found

    def defining(self, name: str) -> list[str]:
        """Return the paths of the modules that define a function or class of that name anywhere."""
        return self._defining.get(name, [])

    @cached_property
    def _called(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.entries:
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return found

    def elsewhere(self, path: str, base: Revision) -> str:
        """Return the one new file with all of the path of another below its topmost folder; empty where none has.

        A file right below that folder has a name that says too little about where it went.
        """
        inner = path.partition("/")[2]
        new = [one for one in self._called.get(path.rpartition("/")[2], ()) if one not in base]
        found = [one for one in new if one.endswith(f"/{inner}")] if "/" in inner else []
        return found[0] if len(found) == 1 else ""

    @cached_property
    def tops(self) -> frozenset[str]:
        """The topmost folders there are."""
        return frozenset(path.partition("/")[0] for path in self.entries if "/" in path)


def revision_of(tree: SourceTree, names: Names) -> Revision:
    """Return a source tree as a revision, its modules' names noted."""
    contents = {entry.blob: tree.content[path] for path, entry in tree.entries.items()}
    for path, entry in tree.entries.items():
        if path.endswith(".py"):
            names.note(entry.blob, tree.content[path])
    return Revision(entries={path: entry.blob for path, entry in tree.entries.items()}, contents=contents, names=names)


def tree_of(revision: Revision, paths: Iterable[str]) -> SourceTree:
    """Return a source tree that holds some of a revision's files, for what asks for a tree."""
    content = {path: revision.read(path) for path in paths if path in revision}
    entries = {path: FileEntry(blob=blob_id(data)) for path, data in content.items()}
    return SourceTree(entries=entries, content=content, source=Source(kind="git", repository="", commit=""))
