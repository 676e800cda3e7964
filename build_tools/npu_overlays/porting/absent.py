"""Absent: an operation whose file, class or symbol upstream has no more → what became of it, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npu_overlays.model.selectors import owner_of
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import Operation
from npu_overlays.porting.fitting import Fitting, Modules
from npu_overlays.porting.revision import Revision
from npu_overlays.porting.staying import new_in, uses_left
from npu_overlays.porting.successors import Successor, Successors
from npu_overlays.porting.verdict import Verdict


class Absent:
    """Says what became of operations that have nothing to be applied to.

    Args:
        content: the overlay's.
        operations: of it, one for each symbol.
        base: upstream where they were locked.
        modules: parses.
        fitting: knows what they depended on there.
    """

    def __init__(
        self, content: Content, operations: tuple[Operation, ...], base: Revision, modules: Modules, fitting: Fitting
    ) -> None:
        self._operations = operations
        self._files = tuple(one.content.decode("utf-8", "replace") for one in content.files)
        self._base = base
        self._modules = modules
        self._fitting = fitting
        self._successors = Successors(base, modules, fitting)

    def verdict(self, operation: Operation, now: Revision, problem: str) -> Verdict:
        """Return what became of an operation; ``problem`` is why it cannot be applied as it stands."""
        if operation.path not in now:
            top = operation.path.partition("/")[0]
            if top not in now.tops and "/" in operation.path:
                return self._left(operation, now, f"there is no {top}/ any more")
        if operation.action == "added":
            return self._without_home(operation, now)
        found = self._successors.find(operation, now)
        if operation.action == "deleted":
            return self._undeleted(operation, now, found)
        if found:
            return elsewhere(operation, found)
        locked = self._fitting.locked(operation)
        if operation.path in now and locked is not None and locked.kind == "import":
            return Verdict(kind="already gone", proposal="drop", evidence=self._gone(operation, now))
        return Verdict(kind="retired", evidence=self.lost(operation, now) or problem)

    def _left(self, operation: Operation, now: Revision, evidence: str) -> Verdict:
        """Return what became of an operation whose package left: of one that left, files may have stayed elsewhere."""
        there = now.elsewhere(operation.path, self._base)
        if not there or any((one.path, one.symbol) == (there, operation.symbol) for one in self._operations):
            return Verdict(kind="left", proposal="drop", evidence=evidence)
        if found := self._successors.of_file(operation, there, now):
            return elsewhere(operation, found)
        return Verdict(kind="left", evidence=f"{evidence}, but {there}, which is new, may be where its file went")

    def lost(self, operation: Operation, now: Revision) -> str:
        """Return what of the place of an operation is gone, its file or the class around it; empty: neither."""
        if operation.path not in now:
            return f"{operation.path} is gone"
        module, owner = self._modules.get(now, operation.path), operation.owner
        is_lost = module is not None and owner and owner not in module.definitions
        return f"{operation.path} has no class `{owner}`" if is_lost else ""

    def _gone(self, operation: Operation, now: Revision) -> str:
        new = new_in(self._modules.get(self._base, operation.path), self._modules.get(now, operation.path))
        return f"{operation.path} has no `{operation.symbol}`{f'; new there: {new}' if new else ''}"

    def _undeleted(self, operation: Operation, now: Revision, found: Successor | None) -> Verdict:
        """Return what became of a deletion of what is gone: done, unless the same stands elsewhere, and unused."""
        why = self._why_kept(found, now) if found else ""
        if found and not why:
            return elsewhere(operation, found)
        if operation.path not in now and not found:
            return Verdict(kind="already gone", proposal="drop", evidence=f"{operation.path} is gone, with all in it")
        what = f"{operation.path} is gone" if operation.path not in now else self._gone(operation, now)
        like = f"; `{found.place}` is like it ({found.likeness:.2f}), and stays: {why}" if found else ""
        return Verdict(kind="already gone", proposal="drop", evidence=f"{what}{like}")

    def _why_kept(self, found: Successor, now: Revision) -> str:
        """Return why a definition is not to be deleted in the place of another: it is another, or is used."""
        module = self._modules.get(now, found.path)
        if found.problem or module is None:
            return found.problem
        named = [one for one in self._operations if one.action == "deleted" and one.path == found.path]
        gone = {one.symbol for one in named} | {found.symbol}
        gone |= {
            one.symbol
            for one in filter(None, (self._successors.find(other, now) for other in named))
            if not one.problem
        }
        return uses_left(module, found.symbol, gone)

    def _without_home(self, operation: Operation, now: Revision) -> Verdict:
        """Return what became of an addition to a file or a class that is gone: it goes where its class went."""
        lost = self.lost(operation, now)
        if found := self._successors.of_member(operation, now):
            return elsewhere(operation, found)
        users = list(self._users(operation))
        kept = [one for one in users if one.action != "added"]
        is_alone = all(one.path == operation.path and self.lost(one, now) for one in users)
        if kept and is_alone and not any(self._successors.find(one, now) for one in kept):
            named = ", ".join(f"`{one.symbol}`" for one in kept)
            return Verdict(
                kind="retired", proposal="drop", evidence=f"{lost}, and {named} with it, for which it was added"
            )
        return Verdict(kind="retired", evidence=lost)

    def _users(self, operation: Operation) -> Iterator[Operation]:
        """Yield the operations whose code names what one adds, and those that name these, if they are added, too."""
        told, pending = {operation.symbol}, [operation]
        while pending:
            one = pending.pop()
            for other in self._operations:
                if other.symbol not in told and _names(other, one):
                    told.add(other.symbol)
                    yield other
                    pending += [other] if other.action == "added" else []


def _names(one: Operation, other: Operation) -> bool:
    """Return whether the code of an operation names what another adds."""
    leaf = re.compile(rf"\b{re.escape(other.leaf)}\b")
    return any(leaf.search(text) for text in (one.text, *(edit.replace for edit in one.edits)))


def elsewhere(operation: Operation, found: Successor) -> Verdict:
    """Return that an operation belongs in another place, if it fits there."""
    beside = (operation.path, operation.owner) == (found.path, owner_of(found.symbol))
    how = "all it looks for stands there and nowhere else" if found.searched else "the same parameters"
    evidence = f"alike {found.likeness:.2f}, {how}"
    if found.problem:
        evidence += f"; but it does not fit there: {found.problem}"
    return Verdict(
        kind="renamed" if beside and not found.searched else "moved",
        proposal="" if found.problem else "retarget",
        to=found.place,
        likeness=found.likeness,
        evidence=evidence,
    )
