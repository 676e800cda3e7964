"""Classify: an operation and another state of upstream → what became of it.

The order of the questions is that of their certainty: what was forwarded and has landed, what still fits, what is
absorbed by its text, what is gone, what stands elsewhere. Nothing is done here, and what is proposed comes with why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from npu_overlays.contracts.contracts import Contract, ContractDifference
from npu_overlays.errors import listing
from npu_overlays.model.selectors import chosen
from npu_overlays.overlay.bounds import ALWAYS
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import EVERYTHING, Operation, Reason
from npu_overlays.porting.absent import Absent, elsewhere
from npu_overlays.porting.absorption import Absorption
from npu_overlays.porting.fitting import Fit, Fitting, Modules
from npu_overlays.porting.landed import Commit, Landed, references
from npu_overlays.porting.resurfacing import Resurfacing
from npu_overlays.porting.revision import Revision
from npu_overlays.porting.staying import new_in
from npu_overlays.porting.successors import Successors
from npu_overlays.porting.vanished import vanished
from npu_overlays.porting.verdict import Kind, Verdict

# Files that a line names.
_SHOWN = 3
_AMBIGUOUS = re.compile(r" (?:\d+ times|under a condition): line | (?:\d+ definitions|no definition) of ")
_Key = tuple[str, str, str, str, tuple[tuple[str, str], ...]]


def effective(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """Return one operation for each symbol, that of the highest layer that has one."""
    return tuple({(one.path, one.symbol): one for one in operations}.values())


def names_of(operations: Iterable[Operation]) -> frozenset[str]:
    """Return the names by which what operations are on is looked for elsewhere: definitions, and their classes."""
    found: set[str] = set()
    for one in operations:
        *owners, leaf = one.name.split(".")
        found.update(owners, () if one.action == "added" or one.symbol == EVERYTHING else (leaf,))
    return frozenset(found)


def _by_path(operations: Iterable[Operation]) -> dict[str, frozenset[str]]:
    listed = tuple(operations)
    return {path: names_of(one for one in listed if one.path == path) for path in {one.path for one in listed}}


def still_held(
    locked: Iterable[Contract], before: Iterable[Operation], now: Iterable[Operation]
) -> tuple[Contract, ...]:
    """Return the contracts of operations that say what they said where they were locked.

    What was written anew since was written for upstream as it is now: another signature is why, and no obstacle.

    Args:
        locked: what operations depended on.
        before: these operations.
        now: the same, and others in their places.
    """
    said = set(map(_words, before))
    anew = {(one.path, one.symbol) for one in effective(now) if _words(one) not in said}
    return tuple(one for one in locked if one.patch or (one.path, one.symbol) not in anew)


def _words(operation: Operation) -> Operation:
    """Return an operation as far as it says what is done to upstream's code, wherever and why it is said."""
    return replace(
        operation, layer="", where="", reason=Reason(why=""), bounds=ALWAYS, depends=(), unproven="", accept=()
    )


class Classifier:
    """Says what became of operations; answers are remembered by what they were made from.

    Args:
        content: the overlay's.
        locked: what its operations depended on where they were locked.
        base: upstream there.
    """

    def __init__(self, content: Content, locked: Sequence[Contract], base: Revision) -> None:
        self.operations = effective(content.operations)
        distribution = content.overlay.distribution
        self._repositories = (content.overlay.pin.repository, *content.overlay.pin.mirrors)
        self.base = base
        self._modules = Modules()
        self._fitting = Fitting(self.operations, locked, distribution, self._modules)
        self._absent = Absent(content, self.operations, base, self._modules, self._fitting)
        self._successors = Successors(base, self._modules, self._fitting)
        self._absorption = Absorption(base, self._modules, distribution)
        self._resurfacing = Resurfacing(base, self._modules, content.overlay.pin.place)
        self._known: dict[_Key, Verdict] = {}
        # An answer depends on where the names of all operations on the file stand: helpers follow what uses them.
        self._names = _by_path(self.operations)
        self._seen: dict[tuple[str, str], str] = {}

    def fit(self, operation: Operation, now: Revision) -> Fit:
        """Return how an operation fits its file as a revision has it."""
        if operation.path not in now:
            return Fit(problem="upstream has no such file")
        return self._fitting.fits(operation.path, now)[operation.symbol]

    def changed(self, operation: Operation, now: Revision) -> bool:
        """Return whether anything an operation depends on is another in a revision; it need not apply there."""
        return self._fitting.changed(operation, now)

    def verdict(self, operation: Operation, now: Revision, landed: Landed) -> Verdict:
        """Return what became of an operation in a revision, given the commits that led to it."""
        commit = landed.find(references(operation.reason.forwarded, self._repositories))
        fit = self.fit(operation, now)
        if fit.applies and commit is None:
            return self._as_it_stands(operation, now, fit)
        names = self._names[operation.path]
        where = tuple(dict.fromkeys((path, now.blob(path)) for name in names for path in now.defining(name)))
        key = (operation.path, operation.symbol, now.blob(operation.path), commit.id if commit else "", where)
        if key not in self._known:
            self._known[key] = self._verdict(operation, now, fit, commit)
        known = self._known[key]
        is_lost = known.kind == "already gone" and operation.action == "edited"
        return self._lost(operation, now, known) if is_lost else known

    def _lost(self, operation: Operation, now: Revision, gone: Verdict) -> Verdict:
        """Return what became of an edit of a statement that is gone, which may be in another file that changed."""
        if not (there := self._resurfacing.files(operation, now)):
            return gone
        evidence = (
            f"what it changes is gone, and what it looks for stands where it did not before: {listing(there, _SHOWN)}"
        )
        return Verdict(kind="find gone", evidence=evidence)

    def _verdict(self, operation: Operation, now: Revision, fit: Fit, commit: Commit | None) -> Verdict:
        text = self._absorption.evidence(operation, now)
        if commit is not None:
            text = text or ("it still applies" if fit.applies else "what stands there is not what it makes of it")
            evidence = f"{operation.reason.forwarded} landed as {commit}; {text}; see that it came with its NPU part"
            return Verdict(kind="absorbed", applies=fit.applies, proposal="drop", evidence=evidence, landed=commit)
        if text:
            return Verdict(kind="absorbed", proposal="drop", evidence=text)
        if not self._is_there(operation, now):
            return self._absent.verdict(operation, now, fit.problem)
        if operation.action == "added":
            return Verdict(kind="taken" if "already defines" in fit.problem else "does not fit", evidence=fit.problem)
        return self._other_definition(operation, now, fit)

    def _is_there(self, operation: Operation, now: Revision) -> bool:
        """Return whether upstream has what an operation is on: its symbol, or for an addition the place for it."""
        if operation.path not in now or operation.action == "added":
            return not self._absent.lost(operation, now)
        module = self._modules.get(now, operation.path)
        if module is None or operation.symbol == EVERYTHING:
            return True
        locked = self._fitting.locked(operation)
        # What left and is imported now is there under its name, to be deleted, but has no definition to be changed.
        counts = operation.action == "deleted" or (locked is not None and locked.kind == "import")
        known = chosen(module, operation.symbol)
        if operation.action != "deleted":  # where another is left of several, that may be what it became
            known = known or chosen(module, operation.name)
        return any(counts or one.kind != "import" for one in known)

    def _as_it_stands(self, operation: Operation, now: Revision, fit: Fit) -> Verdict:
        evidence = _differing(fit.changed)
        if operation.symbol == EVERYTHING and (new := self._new(operation.path, now)):
            evidence = f"it deletes, too, what was not there before: {new}"
        is_other = any(one.part == "body" for one in fit.changed) or operation.symbol == EVERYTHING
        return Verdict(kind="body changed" if is_other and evidence else "fits", applies=True, evidence=evidence)

    def _new(self, path: str, now: Revision) -> str:
        key = (path, now.blob(path))
        if key not in self._seen:
            self._seen[key] = new_in(*(self._modules.get(one, path) for one in (self.base, now)))
        return self._seen[key]

    def _other_definition(self, operation: Operation, now: Revision, fit: Fit) -> Verdict:
        """Return what became of an operation whose symbol is there, but not as it needs it."""
        parts = {one.part for one in fit.breaking}
        said = "; ".join(filter(None, [fit.problem, _differing(fit.breaking)]))
        locked = self._fitting.locked(operation)
        is_value = locked is not None and locked.kind == "attribute"
        if operation.action == "deleted" and is_value and parts == {"body"} and not fit.problem:
            return Verdict(kind="other value", proposal="relock", evidence="only the value assigned is another")
        if operation.action == "edited":
            kind: Kind = "find gone" if "occurs" in fit.problem else "does not fit"
            return self._without_find(operation, now) or Verdict(kind=kind, evidence=said)
        if _AMBIGUOUS.search(fit.problem):
            return Verdict(kind="ambiguous", evidence=said)
        if "parameter" in fit.problem or parts & {"signature", "decorators", "kind"}:
            return Verdict(kind="signature changed", evidence=said)
        return Verdict(kind="body changed" if parts else "does not fit", evidence=said)

    def _without_find(self, operation: Operation, now: Revision) -> Verdict | None:
        """Return what became of an edit whose find stands elsewhere, or went with its statement; None for neither."""
        if moved := self._successors.of_edit(operation, now):
            return elsewhere(operation, moved)
        modules = [self._modules.get(one, operation.path) for one in (self.base, now)]
        known = [module for module in modules if module and len(chosen(module, operation.symbol)) == 1]
        if len(known) < len(modules) or not vanished(operation, *known):
            return None
        evidence = "upstream deleted what it changes, and nothing stands in its place"
        return Verdict(kind="already gone", proposal="drop", evidence=evidence)


def _differing(differences: Iterable[ContractDifference]) -> str:
    listed = ", ".join(str(one) for one in differences)
    return f"upstream's {listed} changed" if listed else ""
