"""Snapshots: one state of upstream's tree → its files, parsed modules, and places of definitions.

Contents are looked up by blob id: an answer cached by blob holds for every commit with that file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from npu_overlays.errors import MergeError
from npu_overlays.model.definitions import Definition
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.sources.tree import FileEntry, Source, SourceTree, blob_id

_PARSED = 256
# Two patterns that begin with a word take an eighth of the time of one with both.
_DEFINING = (re.compile(rb"def[ \t]+(\w+)"), re.compile(rb"class[ \t]+(\w+)"))


class DefinedNames:
    """Which of the wanted names each module defines as a function or class, cached by blob."""

    def __init__(self, wanted: Iterable[str]) -> None:
        self._wanted = frozenset(wanted)
        self._by_blob: dict[str, frozenset[str]] = {}

    def note(self, blob: str, content: bytes) -> None:
        """Scan a module, unless its blob was scanned before."""
        if blob not in self._by_blob:
            found: list[bytes] = []
            for pattern in _DEFINING:
                found += pattern.findall(content)
            self._by_blob[blob] = self._wanted.intersection(one.decode("utf-8", "replace") for one in found)

    def of(self, blob: str) -> frozenset[str]:
        """Return the wanted names that a scanned module defines."""
        return self._by_blob.get(blob, frozenset())


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One state of upstream's tree."""

    entries: Mapping[str, str]  # the blob id of every file, by repository path
    contents: Mapping[str, bytes] = field(repr=False, compare=False)  # the bytes of the blobs that are asked for
    names: DefinedNames = field(repr=False, compare=False)  # which names the modules define
    pin: str = ""  # what messages call it
    archive: str = ""  # the file name of the release archive that it was read from; empty for a commit

    def __contains__(self, path: object) -> bool:
        return path in self.entries

    def blob(self, path: str) -> str:
        """Return the blob id of a path; empty if there is no such file."""
        return self.entries.get(path, "")

    def read(self, path: str) -> bytes:
        """Return the bytes of a file; raises `KeyError` if there is none."""
        return self.contents[self.entries[path]]

    @cached_property
    def _modules(self) -> dict[str, str]:
        return {path: blob for path, blob in self.entries.items() if path.endswith(".py")}

    def has_modules_of(self, other: Snapshot) -> bool:
        """Return whether all Python files are those of another snapshot, and the folders at the root, too."""
        return self._modules == other._modules and self.top_folders == other.top_folders

    def modules_unlike(self, other: Snapshot) -> list[str]:
        """Return the paths of the Python files that another snapshot lacks, or has with other content."""
        return sorted(path for path, _ in self._modules.items() - other._modules.items())

    def module(self, path: str) -> Module | None:
        """Return a parsed module; None if there is no such file, or it is not Python that can be read."""
        return _parsed(path, self.read(path)) if path in self.entries else None

    def definition(self, path: str, symbol: str) -> Definition | None:
        """Return the one definition of a symbol; None if there is none, several, or only an import of it."""
        module = self.module(path)
        found = chosen(module, symbol) if module else []
        return found[0] if len(found) == 1 and found[0].kind != "import" else None

    def has_class(self, path: str, name: str) -> bool:
        """Return whether a name is that of one class, and not of what stands for one: ``Old = New``."""
        found = self.definition(path, name)
        return found is not None and found.kind == "class"

    @cached_property
    def _defining(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path, blob in self.entries.items():
            for name in self.names.of(blob):
                found.setdefault(name, []).append(path)
        return found

    def defining(self, name: str) -> list[str]:
        """Return the paths of the modules that define a function or class of that name, at any depth."""
        return self._defining.get(name, [])

    @cached_property
    def _by_file_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.entries:
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return found

    def relocated_file(self, path: str, base: Snapshot) -> str:
        """Return the only new file with the same path below its top folder; empty if there is none, or several.

        The name of a file directly in the top folder shows too little.
        """
        inner = path.partition("/")[2]
        found: list[str] = []
        for one in self._by_file_name.get(path.rpartition("/")[2], ()):
            if "/" in inner and one not in base and one.endswith(f"/{inner}"):
                found.append(one)
        return found[0] if len(found) == 1 else ""

    def lacking(self, top: str) -> str:
        """Return that a folder at the root is missing; upstream may have a folder that its archive lacks."""
        return f"{self.archive} has no {top}/" if self.archive else f"there is no {top}/ any more"

    @cached_property
    def top_folders(self) -> frozenset[str]:
        """The folders at the root of the repository."""
        return frozenset(path.partition("/")[0] for path in self.entries if "/" in path)


@lru_cache(maxsize=_PARSED)
def _parsed(path: str, content: bytes) -> Module | None:
    try:
        return Module(path, content)
    except MergeError:
        return None


def snapshot_of(tree: SourceTree, names: DefinedNames, pin: str = "") -> Snapshot:
    """Return a source tree as a snapshot, with its modules scanned for names."""
    entries: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    for path, entry in tree.entries.items():
        entries[path] = entry.blob
        contents[entry.blob] = tree.content[path]
        if path.endswith(".py"):
            names.note(entry.blob, tree.content[path])
    return Snapshot(entries=entries, contents=contents, names=names, pin=pin, archive=tree.source.archive)


def tree_of(snapshot: Snapshot, paths: Iterable[str]) -> SourceTree:
    """Return a source tree with some of a snapshot's files."""
    content = {path: snapshot.read(path) for path in paths if path in snapshot}
    entries = {path: FileEntry(blob=blob_id(data)) for path, data in content.items()}
    return SourceTree(entries=entries, content=content, source=Source(kind="git", repository="", commit=""))
