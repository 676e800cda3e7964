"""Missing targets: an operation whose file, class or symbol upstream no longer has → the verdict on it."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from npu_overlays.authoring.port.fit import Fitter
from npu_overlays.authoring.port.relocations import Relocation, Relocations
from npu_overlays.authoring.port.verdicts import Verdict, absent, left, retired
from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.errors import listing
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, leaf_of
from npu_overlays.overlay.operations import Operation

# The most names and lines in a message.
_SHOWN = 6


class MissingTargets:
    """Judges operations without a target.

    Args:
        operations: of the overlay, one for each symbol.
        base: upstream where they were locked.
        fitter: has their locked contracts.
        relocations: finds their new targets.
    """

    def __init__(
        self, operations: tuple[Operation, ...], base: Snapshot, fitter: Fitter, relocations: Relocations
    ) -> None:
        self._operations = operations
        self._base = base
        self._fitter = fitter
        self._relocations = relocations

    def verdict(self, operation: Operation, now: Snapshot) -> Verdict:
        """Return the verdict on an operation."""
        path = operation.path
        top, slash, _ = path.partition("/")
        if path not in now and slash and top not in now.top_folders:
            return self._without_package(operation, now, now.lacking(top))
        if operation.action == "added":
            return self._addition(operation, now)
        found = self._relocations.of_definition(operation, now)
        if operation.action == "deleted":
            return self._deletion(operation, now, found)
        if found:
            return found.verdict(operation)
        locked = self._fitter.locked(operation)
        if path in now and locked is not None and locked.kind == "import":
            return Verdict(kind="already gone", proposal="drop", evidence=self._lacks_symbol(operation, now))
        after, lost = self._relocations.successors(operation, now), lost_place(operation, now)
        named = [name.removeprefix(f"{path}:") for name in after.named]
        verdict = retired(lost or f"{path} has no `{operation.symbol}`", named, is_likely=after.is_likely)
        change = f"`{operation.symbol}` is gone"
        if after.files and path not in after.files:
            owner = f"{path}:{operation.owner}" if operation.owner else path
            # Members that went together are one cause.
            change = f"lines of `{owner}` stand in {listing(f'`{one}`' for one in after.files)} now"
        return verdict if lost else replace(verdict, change=change)

    def absent(self, operation: Operation, now: Snapshot) -> Verdict:
        """Return the verdict on an operation whose target the old version did not have, either."""
        target = f"{operation.path}:{operation.owner if operation.action == 'added' else operation.symbol}"
        if operation.path not in now and operation.path not in self._base:
            target = operation.path
        if operation.action == "added":
            return absent(target, self._base, now, is_sure=self._addition(operation, now).proposal == "drop")
        after = self._relocations.successors(operation, now)
        return absent(target, self._base, now, after.named if after.is_likely else (), is_sure=not after.is_likely)

    def _without_package(self, operation: Operation, now: Snapshot, evidence: str) -> Verdict:
        """Return the verdict on an operation whose package left the repository; its file may be elsewhere."""
        there = now.relocated_file(operation.path, self._base)
        known = {(one.path, one.symbol) for one in self._operations}
        if not there or (there, operation.symbol) in known:
            return Verdict(kind="left", proposal="drop", evidence=evidence)
        if found := self._relocations.of_file(operation, there, now):
            return found.verdict(operation)
        return left(evidence, there)

    def _lacks_symbol(self, operation: Operation, now: Snapshot) -> str:
        path = operation.path
        new = new_definitions(self._base.module(path), now.module(path))
        return f"{path} has no `{operation.symbol}`" + (f"; new there: {new}" if new else "")

    def _deletion(self, operation: Operation, now: Snapshot, found: Relocation | None) -> Verdict:
        """Return the verdict on a deletion whose target is gone: done, unless the target is elsewhere and unused."""
        why_kept = self._why_kept(found, now) if found else ""
        if found and not why_kept:
            return found.verdict(operation)
        evidence = self._lacks_symbol(operation, now)
        if operation.path not in now:
            evidence = f"{operation.path} is gone" + ("" if found else ", with all in it")
        if found:
            evidence += f"; `{found.target}` is like it ({found.likeness:.2f}), and stays: {why_kept}"
        return Verdict(kind="already gone", proposal="drop", evidence=evidence)

    def _why_kept(self, found: Relocation, now: Snapshot) -> str:
        """Return why a definition must not be deleted instead of another: it differs, or it is used."""
        module = now.module(found.wanted.path)
        if found.problem or module is None:
            return found.problem
        taken_out = {found.wanted.symbol}
        for one in self._operations:
            if one.action == "deleted" and one.path == found.wanted.path:
                taken_out.add(one.symbol)
                other = self._relocations.of_definition(one, now)
                if other and not other.problem:
                    taken_out.add(other.wanted.symbol)
        return remaining_uses(module, found.wanted.symbol, taken_out)

    def _addition(self, operation: Operation, now: Snapshot) -> Verdict:
        """Return the verdict on an addition to a missing file or class: it follows that, or goes with its users."""
        lost = lost_place(operation, now)
        if found := self._relocations.of_member(operation, now):
            return found.verdict(operation)
        users, served = list(self._users(operation)), self.served(operation)
        are_lost_with_it = all(one.path == operation.path and lost_place(one, now) for one in users)
        if served and are_lost_with_it and all(self.verdict(one, now).proposal == "drop" for one in served):
            named = ", ".join(f"`{one.symbol}`" for one in served)
            evidence = f"{lost}, and {named} with it; this was added for {named}"
            return Verdict(kind="retired", proposal="drop", evidence=evidence)
        return Verdict(kind="retired", evidence=lost)

    def served(self, operation: Operation) -> list[Operation]:
        """Return the operations that an addition was added for."""
        return [one for one in self._users(operation) if one.action != "added"]

    def _users(self, operation: Operation) -> Iterator[Operation]:
        """Yield the operations whose code names an addition, and the users of those that are additions themselves."""
        known, pending = {operation.symbol}, [operation]
        while pending:
            leaf = re.compile(rf"\b{re.escape(pending.pop().leaf)}\b")
            for other in self._operations:
                texts = [other.text, *(edit.replace for edit in other.edits)]
                if other.symbol not in known and any(map(leaf.search, texts)):
                    known.add(other.symbol)
                    yield other
                    if other.action == "added":
                        pending.append(other)


def lost_place(operation: Operation, now: Snapshot) -> str:
    """Return a sentence if the file of an operation or the class around it is gone; empty if neither is."""
    if operation.path not in now:
        return f"{operation.path} is gone"
    module, owner = now.module(operation.path), operation.owner
    is_lost = module is not None and owner and all(one.kind != "class" for one in module.definitions.get(owner, ()))
    return f"{operation.path} has no class `{owner}`" if is_lost else ""


def remaining_uses(module: Module, symbol: str, taken_out: Collection[str]) -> str:
    """Return a sentence with the lines that name a symbol outside the definitions to take out; empty if none does."""
    leaf, lines = leaf_of(symbol), set()
    for node in ast.walk(module.tree):
        # A text may be in `__all__`, or in a call of `getattr`.
        if isinstance(node, ast.Constant):
            name = node.value
        elif isinstance(node, (ast.Name, ast.Attribute)):
            name = node.id if isinstance(node, ast.Name) else node.attr
        else:
            continue
        if name == leaf:
            lines.add(node.lineno)
    for name in taken_out:
        for one in chosen(module, name):
            lines.difference_update(range(one.first_line, (one.node.end_lineno or 0) + 1))
    if not lines:
        return ""
    shown = ", ".join(map(str, sorted(lines)[:_SHOWN])) + (", …" if len(lines) > _SHOWN else "")
    return f"lines {shown} of {module.path} name it" if len(lines) > 1 else f"line {shown} of {module.path} names it"


def new_definitions(before: Module | None, after: Module | None) -> str:
    """Return the new names of a module as a list to read; imports and members of new classes do not count."""
    if before is None or after is None:
        return ""
    new: list[str] = []
    for name, (first, *_) in after.definitions.items():
        owner = name.rpartition(".")[0]
        owners = after.definitions.get(owner, ()) if owner not in before.definitions else ()
        is_in_new_class = any(one.kind == "class" for one in owners)
        if name not in before.definitions and first.kind != "import" and not is_in_new_class:
            new.append(f"`{name}`")
    return ", ".join(new[:_SHOWN]) + (", …" if len(new) > _SHOWN else "")
