"""Classify: an operation and another state of upstream → what became of it.

The order of the questions is that of their certainty: what was forwarded and has landed, what still fits, what is
absorbed by its text, what is gone, what stands elsewhere. Nothing is done here, and what is proposed comes with why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from npu_overlays.lock.contracts import Contract, Difference
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import EVERYTHING, Operation
from npu_overlays.porting.absorption import Absorption
from npu_overlays.porting.fitting import Fit, Fitting, Modules
from npu_overlays.porting.landed import Commit, Landed, references
from npu_overlays.porting.revision import Revision
from npu_overlays.porting.successors import Successor, Successors
from npu_overlays.porting.verdict import Verdict

_Key = tuple[str, str, str, str, tuple[tuple[str, str], ...]]


def effective(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """Return one operation for each symbol, that of the highest layer that has one."""
    return tuple({(one.path, one.symbol): one for one in operations}.values())


def names_of(content: Content) -> frozenset[str]:
    """Return the names by which definitions that moved are looked for."""
    symbols = [one.symbol for one in content.operations if one.action != "added" and one.symbol != EVERYTHING]
    return frozenset(part for symbol in symbols for part in (symbol.rpartition(".")[2], symbol.partition(".")[0]))


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
        self._repository = content.overlay.pin.repository
        self.base = base
        self._modules = Modules()
        self._fitting = Fitting(self.operations, locked, distribution, self._modules)
        self._successors = Successors(base, self._modules, self._fitting)
        self._absorption = Absorption(base, self._modules, distribution)
        self._known: dict[_Key, Verdict] = {}

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
        commit = landed.find(references(operation.reason.forwarded, self._repository))
        fit = self.fit(operation, now)
        if fit.applies and commit is None:
            return _as_it_stands(fit)
        leaf = operation.symbol.rpartition(".")[2]
        where = tuple((path, now.blob(path)) for path in now.defining(leaf))
        key = (operation.path, operation.symbol, now.blob(operation.path), commit.id if commit else "", where)
        if key not in self._known:
            self._known[key] = self._verdict(operation, now, fit, commit)
        return self._known[key]

    def _verdict(self, operation: Operation, now: Revision, fit: Fit, commit: Commit | None) -> Verdict:
        if commit is not None:
            evidence = f"{operation.reason.forwarded} landed as {commit}; see that it came with its NPU part"
            return Verdict(kind="absorbed", applies=fit.applies, proposal="drop", evidence=evidence)
        if operation.path not in now:
            return self._without_file(operation, now)
        if text := self._absorption.evidence(operation, now):
            return Verdict(kind="absorbed", proposal="drop", evidence=text)
        if operation.action == "added":
            return Verdict(kind="taken" if "already defines" in fit.problem else "does not fit", evidence=fit.problem)
        if self._is_there(operation, now):
            return self._other_definition(operation, now, fit)
        return self._without_definition(operation, now, fit)

    def _is_there(self, operation: Operation, now: Revision) -> bool:
        module = self._modules.get(now, operation.path)
        return module is None or operation.symbol in module.definitions or operation.symbol == EVERYTHING

    def _without_file(self, operation: Operation, now: Revision) -> Verdict:
        top = operation.path.partition("/")[0]
        if top not in now.tops and "/" in operation.path:
            return Verdict(kind="left", proposal="drop", evidence=f"there is no {top}/ any more")
        if operation.action == "deleted":
            return Verdict(kind="already gone", proposal="drop", evidence=f"{operation.path} is gone, with all in it")
        if operation.action == "added":
            return Verdict(kind="retired", evidence=f"{operation.path} is gone")
        if found := self._successors.find(operation, now):
            return _elsewhere(operation, found)
        return Verdict(kind="retired", evidence=f"{operation.path} is gone")

    def _without_definition(self, operation: Operation, now: Revision, fit: Fit) -> Verdict:
        found = self._successors.find(operation, now)
        if found:
            return _elsewhere(operation, found)
        locked = self._fitting.locked(operation)
        if operation.action == "deleted" or (locked is not None and locked.kind == "import"):
            what = f"{operation.path} has no `{operation.symbol}`{self._instead(operation, now)}"
            return Verdict(kind="already gone", proposal="drop", evidence=what)
        owner = self._successors.place_of(operation, now)
        evidence = f"{operation.path} has no class `{owner}`" if owner else fit.problem
        return Verdict(kind="retired", evidence=evidence)

    def _instead(self, operation: Operation, now: Revision) -> str:
        """Return what the file defines that it did not: what was deleted may have come back under another name."""
        before, after = (self._modules.get(one, operation.path) for one in (self.base, now))
        if before is None or after is None:
            return ""
        new = [name for name in after.definitions if name not in before.definitions]
        shown = ", ".join(f"`{name}`" for name in new[:6])
        return f"; new there: {shown}{', …' if len(new) > 6 else ''}" if new else ""  # noqa: PLR2004  # as shown

    def _other_definition(self, operation: Operation, now: Revision, fit: Fit) -> Verdict:
        """Return what became of an operation whose symbol is there, but not as it needs it."""
        parts = {one.part for one in fit.breaking}
        said = "; ".join(filter(None, [fit.problem, _differing(fit.breaking)]))
        locked = self._fitting.locked(operation)
        is_value = locked is not None and locked.kind == "attribute"
        if operation.action == "deleted" and is_value and parts == {"body"} and not fit.problem:
            return Verdict(kind="other value", proposal="relock", evidence="only the value assigned is another")
        if operation.action == "edited":
            if moved := self._successors.of_edit(operation, now):
                return _elsewhere(operation, moved)
            return Verdict(kind="find gone" if "occurs" in fit.problem else "does not fit", evidence=said)
        if "times (lines" in fit.problem or "under a condition" in fit.problem:
            return Verdict(kind="ambiguous", evidence=said)
        if "parameter" in fit.problem or parts & {"signature", "decorators", "kind"}:
            return Verdict(kind="signature changed", evidence=said)
        return Verdict(kind="body changed" if parts else "does not fit", evidence=said)


def _as_it_stands(fit: Fit) -> Verdict:
    changed = any(one.part == "body" for one in fit.changed)
    return Verdict(kind="body changed" if changed else "fits", applies=True, evidence=_differing(fit.changed))


def _differing(differences: Iterable[Difference]) -> str:
    listed = ", ".join(str(one) for one in differences)
    return f"upstream's {listed} changed" if listed else ""


def _elsewhere(operation: Operation, found: Successor) -> Verdict:
    beside = (operation.path, operation.symbol.rpartition(".")[0]) == (found.path, found.symbol.rpartition(".")[0])
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
