"""Classifier: an operation and another state of upstream → the verdict on it.

The checks run in order of certainty: has the forwarded change landed, does the operation still fit, did upstream make
the change itself, is the target gone, and where is it now.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from npu_overlays.authoring.port.absorption import Absorption
from npu_overlays.authoring.port.adaptation import adapted
from npu_overlays.authoring.port.change_sentences import changed_parts
from npu_overlays.authoring.port.fit import Fit, Fitter
from npu_overlays.authoring.port.missing_targets import MissingTargets, lost_place, new_definitions
from npu_overlays.authoring.port.open_questions import OpenQuestions
from npu_overlays.authoring.port.relocations import Relocations
from npu_overlays.authoring.port.removed_statements import are_removed
from npu_overlays.authoring.port.renamed_words import UnprovenError, function_of
from npu_overlays.authoring.port.upstream_commits import LandedCommits, UpstreamCommit, references
from npu_overlays.authoring.port.verdicts import Verdict
from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.contracts.contracts import Contract
from npu_overlays.errors import listing
from npu_overlays.model import Symbol
from npu_overlays.model.code_blocks import renamed
from npu_overlays.model.definitions import FUNCTIONS, FunctionNode
from npu_overlays.model.fingerprint import dump
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.model.signature_changes import SignatureChange, signature_change
from npu_overlays.overlay.bounds import ALWAYS
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import EVERYTHING, Operation, Reason

# Files that a line names.
_SHOWN = 3
_AMBIGUOUS = re.compile(r" (?:\d+ times|under a condition): line | (?:\d+ definitions|no definition) of ")
_PARAMETERS = re.compile(r"parameter| a default, which upstream's callers must give")
# The questions that proposals leave open.
_DECORATED = "what the new decorator does with the function"
_CALLED = "whether the function is still what the change is for: syntax says only how it is called"
_Key = tuple[str, str, str, str, tuple[tuple[str, str], ...]]


def effective(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """Return one operation for each symbol: that of the highest layer."""
    return tuple({(one.path, one.symbol): one for one in operations}.values())


def names_of(operations: Iterable[Operation]) -> frozenset[str]:
    """Return the names by which targets are looked for in other files: those of definitions and of their classes."""
    found: set[str] = set()
    for one in operations:
        *owners, leaf = one.name.split(".")
        found.update(owners)
        if one.action != "added" and one.symbol != EVERYTHING:
            found.add(leaf)
    return frozenset(found)


def rewritten(before: Iterable[Operation], now: Iterable[Operation]) -> list[Operation]:
    """Return the operations that were written anew since they were locked, for upstream as it is now.

    Args:
        before: the locked operations.
        now: the present ones.
    """
    known = frozenset(map(_effect, before))
    return [one for one in effective(now) if _effect(one) not in known]


def still_held(locked: Iterable[Contract], anew: Iterable[Operation]) -> tuple[Contract, ...]:
    """Return the contracts without those of rewritten operations, to which a changed signature is no obstacle."""
    places = {(one.path, one.symbol) for one in anew}
    return tuple(one for one in locked if one.patch or (one.path, one.symbol) not in places)


def _effect(operation: Operation) -> Operation:
    """Return an operation with only the fields that change upstream's code."""
    return replace(
        operation, layer="", where="", reason=Reason(why=""), bounds=ALWAYS, depends=(), unproven="", accept=()
    )


class Classifier:
    """Judges the operations of an overlay; verdicts are cached by the files they depend on.

    Args:
        content: of the overlay.
        locked: the contracts its operations were locked with.
        base: upstream where they were locked.
    """

    def __init__(self, content: Content, locked: Sequence[Contract], base: Snapshot) -> None:
        self.operations = effective(content.operations)
        self.base = base
        pin, distribution = content.overlay.pin, content.overlay.distribution
        self.fitter = Fitter(self.operations, locked, distribution)
        self._repositories = (pin.repository, *pin.mirrors)
        self._relocations = Relocations(base, self.fitter, pin)
        self._questions = OpenQuestions(base, self._relocations, pin)
        self._missing = MissingTargets(self.operations, base, self.fitter, self._relocations)
        self._absorption = Absorption(base, distribution)
        self._known: dict[_Key, Verdict] = {}
        # By path and symbol, the last snapshot, the commit that landed by then, and the verdict.
        self._last: dict[tuple[str, str], tuple[Snapshot, UpstreamCommit | None, Verdict]] = {}
        # A verdict depends on the modules that define any name of its file's operations: additions follow their users.
        self._names: dict[str, frozenset[str]] = {}
        for path in dict.fromkeys(one.path for one in self.operations):
            self._names[path] = names_of(one for one in self.operations if one.path == path)
        self._new_names: dict[tuple[str, str], str] = {}

    def verdict(self, operation: Operation, now: Snapshot, landed: LandedCommits) -> Verdict:
        """Return the verdict on an operation in a snapshot, given the commits that led to it."""
        commit = landed.find(references(operation.reason.forwarded, self._repositories))
        place = (operation.path, operation.symbol)
        last = self._last.get(place)
        if last is None or last[0] is not now or last[1] != commit:
            last = self._last[place] = now, commit, self._verdict(operation, now, commit)
        return last[2]

    def _verdict(self, operation: Operation, now: Snapshot, commit: UpstreamCommit | None) -> Verdict:
        fit = self.fitter.fit(operation, now)
        if fit.applies and commit is None:
            return self._called(operation, self._applying(operation, now, fit), now)
        places: dict[tuple[str, str], None] = {}
        for name in self._names[operation.path]:
            places |= {(path, now.blob(path)): None for path in now.defining(name)}
        key = (operation.path, operation.symbol, now.blob(operation.path), commit.id if commit else "", tuple(places))
        if key not in self._known:
            self._known[key] = self._judge(operation, now, fit, commit)
        known = self._known[key]
        # What follows depends on all files of the snapshot.
        is_removed = known.kind == "already gone" and operation.action == "edited"
        if is_removed and (there := self._relocations.files_with_new_finds(operation, now)):
            what = "what it changes is gone, and what it looks for stands where it did not before"
            return Verdict(kind="find gone", evidence=f"{what}: {listing(there, _SHOWN)}")
        own = Symbol(operation.path, operation.symbol)
        if is_removed and (there := self._relocations.files_with_lines_lost(own, own, now)):
            what = "what it changes is gone, and half of the lines that went with it stand where they did not before"
            return Verdict(kind="find gone", evidence=f"{what}: {listing(there, _SHOWN)}")
        return self._called(operation, known, now)

    def _called(self, operation: Operation, found: Verdict, now: Snapshot) -> Verdict:
        """Return a verdict without its proposal if calls went elsewhere: not all to a new target, or to something else.

        A missing function whose callers have other code in place of the call may still do its work, under any name. An
        addition goes with those that it was added for.
        """
        unknown = ""
        if found.proposal == "retarget" and found.wanted:
            unknown = self._questions.of_target(operation, found.wanted, now, is_renamed=found.kind == "renamed")
        elif found.proposal == "drop" and found.kind == "retired":
            gone = self._missing.served(operation) if operation.action == "added" else [operation]
            unknown = next(filter(None, (self._questions.of_missing(one, now) for one in gone)), "")
        elif found.proposal in ("follow", "keep"):
            unknown = self._questions.of_changed(operation, now)
        return replace(found, proposal="", unknown=unknown) if unknown else found

    def _applying(self, operation: Operation, now: Snapshot, fit: Fit) -> Verdict:
        evidence = changed_parts(fit.changed)
        has_other_body = any(one.part == "body" for one in fit.changed)
        if operation.symbol == EVERYTHING:
            key = (operation.path, now.blob(operation.path))
            if key not in self._new_names:
                before, after = self.base.module(operation.path), now.module(operation.path)
                self._new_names[key] = new_definitions(before, after)
            if new := self._new_names[key]:
                evidence, has_other_body = f"it deletes, too, what was not there before: {new}", True
        moved = self._relocations.of_shim(operation, now) if has_other_body and operation.action == "wrapped" else None
        if moved:
            return moved.verdict(operation)
        return Verdict(kind="body changed" if has_other_body else "fits", applies=True, evidence=evidence)

    def _judge(self, operation: Operation, now: Snapshot, fit: Fit, commit: UpstreamCommit | None) -> Verdict:
        absorbed = self._absorption.evidence(operation, now)
        if commit is not None:
            state = "it still applies" if fit.applies else "what stands there is not what it makes of it"
            evidence = f"{operation.reason.forwarded} landed as {commit}; {absorbed or state}"
            evidence += "; see that it came with its NPU part"
            return Verdict(kind="absorbed", applies=fit.applies, proposal="drop", evidence=evidence, landed=commit)
        if absorbed:
            return Verdict(kind="absorbed", proposal="drop", evidence=absorbed)
        if not self._has_target(operation, now):
            # A release archive may lack what its commit has, and was locked there.
            was_there = self.fitter.locked(operation) or self._has_target(operation, self.base)
            return self._missing.verdict(operation, now) if was_there else self._missing.absent(operation, now)
        if operation.action == "added":
            return Verdict(kind="taken" if "already defines" in fit.problem else "does not fit", evidence=fit.problem)
        if operation.action == "edited":
            return self._edit(operation, now, fit)
        return self._changed_target(operation, now, fit)

    def _has_target(self, operation: Operation, now: Snapshot) -> bool:
        """Return whether upstream has the target of an operation: its symbol, or the class of an addition."""
        if operation.path not in now or operation.action == "added":
            return not lost_place(operation, now)
        module = now.module(operation.path)
        if module is None or operation.symbol == EVERYTHING:
            return True
        known, locked = chosen(module, operation.symbol), self.fitter.locked(operation)
        # A name that is only imported now can be deleted, but there is no definition to change.
        if operation.action == "deleted":
            return bool(known)
        # If one of several definitions is left, that may be the target.
        known = known or chosen(module, operation.name)
        if locked is not None and locked.kind == "import":
            return bool(known)
        return any(one.kind != "import" for one in known)

    def _edit(self, operation: Operation, now: Snapshot, fit: Fit) -> Verdict:
        """Return the verdict on an edit whose find does not occur in its target."""
        if moved := self._relocations.of_edit(operation, now):
            return moved.verdict(operation)
        path, symbol = operation.path, operation.symbol
        before, after = self.base.module(path), now.module(path)
        is_one = before and after and len(chosen(before, symbol)) == len(chosen(after, symbol)) == 1
        if is_one and before and after and are_removed(operation, before, after):
            evidence = "upstream deleted what it changes, and nothing stands in its place"
            return Verdict(kind="already gone", proposal="drop", evidence=evidence)
        unfit = Verdict(kind="find gone" if "occurs" in fit.problem else "does not fit", evidence=_obstacles(fit))
        followed = self._followed(operation, now, unfit)
        return followed if followed.proposal else replace(unfit, unknown=followed.unknown)

    def _changed_target(self, operation: Operation, now: Snapshot, fit: Fit) -> Verdict:
        """Return the verdict on an operation whose target changed in a way that breaks it."""
        parts, evidence = {one.part for one in fit.breaking}, _obstacles(fit)
        locked = self.fitter.locked(operation)
        is_value = locked is not None and locked.kind == "attribute"
        if operation.action == "deleted" and is_value and parts == {"body"} and not fit.problem:
            return Verdict(kind="other value", proposal="relock", evidence="only the value assigned is another")
        if _AMBIGUOUS.search(fit.problem):
            return Verdict(kind="ambiguous", evidence=evidence)
        if _PARAMETERS.search(fit.problem) or parts & {"signature", "decorators", "kind"}:
            return self._followed(operation, now, Verdict(kind="signature changed", evidence=evidence))
        return Verdict(kind="body changed" if parts else "does not fit", evidence=evidence)

    def _followed(self, operation: Operation, now: Snapshot, unfit: Verdict) -> Verdict:
        """Return the verdict on an operation that does not fit its function, and the one that syntax proves."""
        path, symbol = operation.path, operation.symbol
        module, after = now.module(path), now.definition(path, symbol)
        was = self.base.definition(path, symbol) if self.fitter.locked(operation) else None
        if module is None or after is None or (was is None and not (operation.text and operation.kind == "function")):
            return unfit
        try:
            # Without a contract, the operation's own parameters are those of the version that it was written for.
            before = was.node if was else function_of(operation.text)[1]
            if not isinstance(before, FUNCTIONS) or not isinstance(after.node, FUNCTIONS):
                return unfit
            change = signature_change(before, after.node, module.tree, decorated=was is not None)
            unfit = replace(unfit, change=str(change))
            if change.has_others and self._has_decorators_of_model(operation, after.node, now):
                change = replace(change, has_others=False)
            wanted = adapted(operation, change)
        except UnprovenError as error:
            return replace(unfit, unknown=str(error))
        return self._proposed(operation, wanted, change, module, unfit)

    def _proposed(
        self, operation: Operation, wanted: Operation, change: SignatureChange, module: Module, unfit: Verdict
    ) -> Verdict:
        """Return the verdict with an adapted operation as its proposal, if that can be applied."""
        if wanted != operation:
            text = renamed(wanted.text, operation.leaf) if wanted.text else ""
            wanted = replace(wanted, text=text, shared="")
        elif wanted.edits:
            # A changed decorator does not explain an edit whose find does not occur.
            return unfit
        if problem := self.fitter.problem(wanted, module):
            return replace(unfit, unknown=problem)
        if wanted == operation:
            return replace(
                unfit, proposal="keep", unknown=_with_body(_DECORATED if change.decorators else _CALLED, change)
            )
        unknown = f"whether {listing(change.added)} needs what is done here to other parameters: it is handed on"
        unknown = _with_body(unknown if change.added else _CALLED, change)
        return replace(unfit, proposal="follow", wanted=wanted, unknown=unknown)

    def _has_decorators_of_model(self, operation: Operation, after: FunctionNode, now: Snapshot) -> bool:
        """Return whether the model of its form is decorated alike now, and nothing is left to a person there."""
        names = {f"{one.path}:{one.symbol}": one for one in self.operations}
        model = names.get(operation.like.model) if operation.like else None
        there = now.definition(model.path, model.symbol) if model else None
        if model is None or model == operation or there is None or not isinstance(there.node, FUNCTIONS):
            return False
        if [*map(dump, there.node.decorator_list)] != [*map(dump, after.decorator_list)]:
            return False
        fit = self.fitter.fit(model, now)
        return fit.applies or bool(self._changed_target(model, now, fit).proposal)


def _with_body(unknown: str, change: SignatureChange) -> str:
    """Return the question that a proposal leaves open, and the one about a changed body."""
    return f"{unknown}; and its body changed, beyond names" if change.has_other_body else unknown


def _obstacles(fit: Fit) -> str:
    return "; ".join(filter(None, [fit.problem, changed_parts(fit.breaking)]))
