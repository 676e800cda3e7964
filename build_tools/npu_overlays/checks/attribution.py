"""Attribution: place in the patched tree → the file and the lines of the overlay to mend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from npu_overlays.errors import Problem, listing
from npu_overlays.merge.authorship import Authorship
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.patches import line_of, read_patch


@dataclass(frozen=True, kw_only=True)
class Culprit:
    """The place in an overlay to mend."""

    file: str  # the overlay's file
    lines: tuple[int, ...] = ()  # the lines in it, where they are known
    kind: str = "merge"  # whether that is a merge module, a file that is shipped as it is, or a patch

    @property
    def where(self) -> str:
        """The file, and the first of the lines."""
        return f"{self.file}:{min(self.lines)}" if self.lines else self.file


def culprit_of(operation: Operation) -> Culprit:
    """Return an operation as the place to mend."""
    return Culprit(file=operation.file, lines=(operation.line,))


class Attribution:
    """Finds culprits.

    Args:
        content: the overlay.
        authorship: of every changed file, by repository path.
    """

    def __init__(self, content: Content, authorship: Mapping[str, Authorship]) -> None:
        self.overlay = content.overlay.name
        self._content = content
        self._authorship = authorship
        self._files = {file.file for file in content.files}
        self._patches = {file.file for file in content.patches}
        self._operations: dict[str, list[Operation]] = {}
        for operation in content.operations:
            self._operations.setdefault(operation.path, []).append(operation)

    def wrote(self, path: str, offset: int) -> bool:
        """Return whether the overlay wrote a byte of a patched file."""
        authorship = self._authorship.get(path)
        return authorship is not None and authorship.origin(offset) is None

    def wrote_any(self, path: str, start: int, end: int) -> bool:
        """Return whether the overlay wrote a byte from `start` to `end`."""
        authorship = self._authorship.get(path)
        return authorship is not None and any(one.origin is None for one in authorship.between(start, end))

    def is_patched(self, path: str) -> bool:
        """Return whether a patch changed a file."""
        authorship = self._authorship.get(path)
        return authorship is not None and any(one.where in self._patches for one in authorship.stretches)

    def author(self, path: str, offset: int, line: int, names: Iterable[str]) -> Culprit:
        """Return the author of a byte of a patched file.

        Args:
            path: repository path.
            offset: of the byte.
            line: its 1-based line in the patched file.
            names: the names at that place; the result has the overlay's lines that mention the first known one.
        """
        where = self._authorship[path].at(offset).where
        if where in self._files:
            return Culprit(file=where, lines=(line,), kind="file")
        if where in self._patches:
            return self._patch(where, path, names)
        operations = self._operations.get(path, [])
        own = [operation for operation in operations if operation.where == where]
        for name in names:
            for operation in own:
                if name in operation.uses:
                    return Culprit(file=operation.file, lines=operation.uses[name])
            # One insertion holds the merged imports of all operations.
            for operation in operations:
                if lines := {one.line for one in operation.imports if name == f"import {one.imported}"}:
                    return Culprit(file=operation.file, lines=tuple(lines))
        for operation in own:
            return culprit_of(operation)
        return _all_of(operations) if operations else Culprit(file=where or f"{self.overlay}: {path}")

    def operations_at(self, path: str, offset: int) -> list[Operation]:
        """Return the operations that wrote a byte of a patched file; none if a patch or an added file did."""
        where = self._authorship[path].at(offset).where
        return [operation for operation in self._operations.get(path, []) if operation.where == where]

    def changer(self, place: tuple[str, str], names: Sequence[str]) -> Culprit:
        """Return the author of a change to one of some members of a class, given its path and symbol."""
        path, symbol = place
        wanted = [*(f"{symbol}.{name}" for name in names), symbol]
        for operation in self._operations.get(path, []):
            if operation.name in wanted:
                return culprit_of(operation)
        return self.taker(path, names[0])

    def taker(self, path: str, name: str) -> Culprit:
        """Return the author who removed a name from an upstream module, or changed its meaning."""
        operations = self._operations.get(path, [])
        for symbol in _around(name):
            for operation in operations:
                if operation.name == symbol:
                    return culprit_of(operation)
        wheres = {stretch.where for stretch in self._authorship[path].stretches} if path in self._authorship else set()
        patches = sorted(wheres & self._patches)
        if operations and not patches:
            return _all_of(operations)
        patches = patches or [one.file for one in self._content.patches if path in read_patch(one).paths]
        if patches:
            return self._patch(patches[0], path, [name])
        return Culprit(file=min(filter(None, wheres), default=f"{self.overlay}: {path}"), kind="patch")

    def _patch(self, file: str, path: str, names: Iterable[str]) -> Culprit:
        """Return a patch, with the line that changes one of some names in a module, or its first line."""
        patch = next(one for one in self._content.patches if one.file == file)
        return Culprit(file=patch.holder, lines=(patch.line(line_of(patch.content, path, names)),), kind="patch")


def _around(name: str) -> Iterator[str]:
    """Yield a symbol, then the classes around it."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def _all_of(operations: Sequence[Operation]) -> Culprit:
    """Return the operations of the first one's file, if it may be any of them."""
    file = operations[0].file
    return Culprit(file=file, lines=tuple(one.line for one in operations if one.file == file))


@dataclass(kw_only=True)
class ProblemReport:
    """Mistakes by text and place: each is reported once, with all its lines."""

    _found: dict[tuple[str, str, str], set[int]] = field(default_factory=dict)

    def add(self, culprit: Culprit, what: str, fix: str) -> None:
        """Note a mistake."""
        self._found.setdefault((culprit.file, what, fix), set()).update(culprit.lines)

    def problems(self) -> list[Problem]:
        """Return every mistake once, by file and line."""
        found = sorted(self._found.items(), key=lambda item: (item[0][0], min(item[1], default=0), item[0][1]))
        return [_problem(*key, sorted(lines)) for key, lines in found]


def _problem(file: str, what: str, fix: str, lines: list[int]) -> Problem:
    where = f"{file}:{lines[0]}" if lines else file
    more = f" (lines {listing(map(str, lines), 20)})" if len(lines) > 1 else ""
    return Problem(where=where, what=what + more, fix=fix)
