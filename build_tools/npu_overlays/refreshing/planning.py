"""Planning: an overlay and the files that are to be otherwise → what of the overlay has to change."""

from __future__ import annotations

import dataclasses

from npu_overlays.errors import MergeError, Problem, listing
from npu_overlays.merging.apply import apply_part
from npu_overlays.model.encodings import encoding_of
from npu_overlays.model.module import Module
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import Operation
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.refreshing import attempting
from npu_overlays.refreshing.attempting import Change
from npu_overlays.refreshing.deriving import derive
from npu_overlays.refreshing.edited import Edited
from npu_overlays.refreshing.leaving import left_for_others
from npu_overlays.refreshing.meaning import same_program
from npu_overlays.refreshing.notices import notice_blocks, without_notices
from npu_overlays.refreshing.patching import last_patch
from npu_overlays.refreshing.plan import EditChange, FileChange, PatchChange, Plan
from npu_overlays.refreshing.texts import Text, substituted
from npu_overlays.sources.tree import PatchedTree


class Planner:
    """Plans files one by one.

    Args:
        subject: the overlay and its upstream.
        marked: what it gives, with notices.
        as_patch: whether a patch may take the place of the pin's own operations, where they cannot stay.
    """

    def __init__(self, subject: AppliedInput, marked: PatchedTree, *, as_patch: bool = False) -> None:
        self._subject = subject
        self._marked = marked
        self._as_patch = as_patch
        content = subject.content
        patches = dataclasses.replace(content, operations=(), edits=(), files=())
        self._patched = self._part(patches)
        self._plain = self._part(content, notices=False)

    def _part(self, content: Content, *, notices: bool = True) -> PatchedTree:
        return apply_part(content, self._subject.tree, absent=self._subject.absent, notices=notices)

    def plan(self, files: tuple[Edited, ...]) -> Plan:
        """Return what has to change to give these files; raises `MergeError` with each that nothing gives."""
        plan = Plan()
        problems: list[Problem] = []
        for one in files:
            try:
                self._file(plan, one)
            except MergeError as error:
                problems += error.problems
        if problems := problems or list(left_for_others(plan.gone(), files, self._plain)):
            raise MergeError(problems)
        return plan

    def _file(self, plan: Plan, one: Edited) -> None:
        content = self._subject.content
        added = next((file for file in content.files if file.path == one.path), None)
        upstreams = self._patched.after(one.path)
        operations = tuple(each for each in content.operations if each.path == one.path)
        if added or (upstreams is None and one.path not in self._subject.tree):
            plan.files.append(FileChange(known=added, wanted=one))
        elif one.path.endswith(".py") and one.content is not None and upstreams is not None and _is_text(upstreams):
            self._module(plan, one.path, one.content, operations)
        else:
            plan.operations += [Change(symbol=each.symbol, known=each, wanted=None) for each in operations]
            self._text(plan, one)

    def _module(self, plan: Plan, path: str, wanted: bytes, operations: tuple[Operation, ...]) -> None:
        marked, now = self._marked.after(path) or b"", self._plain.after(path) or b""
        before = self._patched.after(path) or b""
        Module(path, wanted)  # raises where it is no Python
        bare = without_notices(wanted, notice_blocks(marked, now))
        if bare == now:
            return
        if emptying := next((one for one in operations if one.emptying), None):
            what, fix = f"is emptied by {emptying.where}", "take that operation out first, and make another checkout"
            raise MergeError(Problem(where=path, what=what, fix=fix))
        known = Module(path, before).definitions.keys()
        if same_program(bare, now, known):
            # No operation says comments alone: a wheel's summary would show nothing.
            operations_text = self._commented(path, before, operations, now, bare)
            plan.operations += operations_text
            plan.layouts.append(path)
            return
        derived = derive(attempting.Subject(path=path, upstream=before, operations=operations, now=now, wanted=bare))
        self._refuse(path, derived.given_up)
        plan.operations += derived.changes
        plan.orders[path] = list(dict.fromkeys(name.partition(".")[0] for name in Module(path, bare).definitions))
        if derived.before is not None:
            self._below(plan, path, derived.before, derived.given_up)
        if derived.result != bare:
            plan.layouts.append(path)

    def _refuse(self, path: str, given_up: tuple[Operation, ...]) -> None:
        """Refuse a patch in place of operations: of those that other pins are made of too, and of others unasked."""
        own = self._subject.content.overlay.chain[-1].name
        foreign = [one for one in given_up if one.layer != own]
        if foreign:
            what = f"was changed in what the layer {foreign[0].layer} puts there, in a way that no operation says"
            fix = f"change {foreign[0].where} by hand, or leave that text as it was"
            raise MergeError(Problem(where=path, what=what, fix=fix))
        if given_up and not self._as_patch:
            named = listing(f"`{one.symbol}` ({one.where}: {' '.join(one.reason.why.split())})" for one in given_up)
            what = f"no operation says what was changed, and no patch can say it beside what is there for {named}"
            fix = (
                "put what is new into a definition, or between upstream's own lines; or make one patch of it"
                " and of those operations, with their reasons"
            )
            raise MergeError(Problem(where=path, what=what, fix=fix, options=(("--as-patch", ""),)))

    def _commented(
        self, path: str, before: bytes, operations: tuple[Operation, ...], now: bytes, wanted: bytes
    ) -> list[Change]:
        """Return the operations that have other comments in their text."""
        if not operations:
            return []
        derived = derive(attempting.Subject(path=path, upstream=before, operations=operations, now=now, wanted=wanted))
        texts = [one for one in derived.changes if one.known and one.wanted and one.known.action == one.wanted.action]
        return texts if derived.before is None else []

    def _below(self, plan: Plan, path: str, after: bytes | None, instead: tuple[Operation, ...] = ()) -> None:
        known = None if instead else last_patch(self._subject.content.patches, path)
        plan.patches.append(PatchChange(path=path, after=after, known=known, instead=instead))

    def _text(self, plan: Plan, one: Edited) -> None:
        content = self._subject.content
        text = Text(
            path=one.path,
            before=self._patched.after(one.path),
            edits=tuple(edit for edit in content.edits if edit.path == one.path),
            now=self._marked.after(one.path),
            wanted=one.content,
            patched=last_patch(content.patches, one.path) is not None,
        )
        found = substituted(text)
        if found is None:
            what = (
                "was changed so that what substitutions put in cannot be told from what is upstream's: neither they,"
                " nor a few new ones behind them, nor a patch below them give it"
            )
            said = listing(dict.fromkeys(each.where for each in text.edits))
            fix = f"change what {said} says by hand, or less of this file at once"
            raise MergeError(Problem(where=one.path, what=what, fix=fix))
        for known, replacement in found.changed:
            plan.edits.append(EditChange(path=one.path, known=known, find=known.edit.find, replace=replacement))
        for find, replace in found.new:
            plan.edits.append(EditChange(path=one.path, known=None, find=find, replace=replace))
        for after in found.below:
            self._below(plan, one.path, after)


def _is_text(content: bytes) -> bool:
    """Return whether a module is in the encoding that it declares; any other is for patches."""
    try:
        content.decode(encoding_of(content))
    except (SyntaxError, UnicodeDecodeError):
        return False
    return True
