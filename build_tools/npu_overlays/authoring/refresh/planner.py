"""Planner: an overlay and edited files → the changes to the overlay that give them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from npu_overlays.authoring.refresh.attempt import EditedModule, removal
from npu_overlays.authoring.refresh.edited_files import EditedFile
from npu_overlays.authoring.refresh.equivalence import same_program
from npu_overlays.authoring.refresh.module_derivation import derive
from npu_overlays.authoring.refresh.moved_operations import left_for_others
from npu_overlays.authoring.refresh.patch_text import last_patch
from npu_overlays.authoring.refresh.plan import AddedFileChange, PatchChange, RefreshPlan
from npu_overlays.authoring.refresh.reasons import listed_with_reasons
from npu_overlays.authoring.refresh.text_edits import EditedText, substituted
from npu_overlays.authoring.writer.merge_module_text import OperationChange, top_names
from npu_overlays.errors import MergeError, Problem, collected, listing
from npu_overlays.merge.apply import apply_part
from npu_overlays.model.encodings import encoding_of
from npu_overlays.model.module import Module
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import Operation
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.sources.tree import PatchedTree

_Block: TypeAlias = tuple[bytes, ...]


class Planner:
    """Plans files one by one.

    Args:
        subject: the overlay and its upstream.
        marked: what it gives, with notices.
        as_patch: whether a patch may replace the pin's own operations, where they cannot stay.
    """

    def __init__(self, subject: AppliedInput, marked: PatchedTree, *, as_patch: bool = False) -> None:
        self._subject = subject
        self._marked = marked
        self._as_patch = as_patch
        content = subject.content
        # Upstream with the overlay's patches alone, and the whole result without notices.
        self.patched = self._part(dataclasses.replace(content, operations=(), edits=(), files=()))
        self._plain = self._part(content, notices=False)

    def _part(self, content: Content, *, notices: bool = True) -> PatchedTree:
        return apply_part(content, self._subject.tree, absent=self._subject.absent, notices=notices)

    def plan(self, files: tuple[EditedFile, ...]) -> RefreshPlan:
        """Return what has to change to give these files; raises `MergeError` with each that nothing gives."""
        plan = RefreshPlan()
        problems: list[Problem] = []
        for one in files:
            with collected(problems, MergeError):
                self._file(plan, one)
        MergeError.raise_for(problems or list(left_for_others(plan.gone(), files, self._plain)))
        return plan

    def _file(self, plan: RefreshPlan, one: EditedFile) -> None:
        content = self._subject.content
        added = next((file for file in content.files if file.path == one.path), None)
        upstreams = self.patched.after(one.path)
        operations = tuple(each for each in content.operations if each.path == one.path)
        if added or (upstreams is None and one.path not in self._subject.tree):
            plan.files.append(AddedFileChange(known=added, wanted=one))
        elif one.path.endswith(".py") and one.content is not None and upstreams is not None and _is_text(upstreams):
            self._module(plan, one.path, one.content, operations)
        else:
            plan.operations += map(removal, operations)
            self._text(plan, one)

    def _module(self, plan: RefreshPlan, path: str, wanted: bytes, operations: tuple[Operation, ...]) -> None:
        marked, now = self._marked.after(path) or b"", self._plain.after(path) or b""
        before = self.patched.after(path) or b""
        _check_syntax(path, wanted)
        bare = without_notices(wanted, marked, now)
        if bare == now:
            return
        if emptying := next((one for one in operations if one.emptying), None):
            what, fix = f"is emptied by {emptying.where}", "delete that operation first, and make another checkout"
            raise MergeError(Problem(where=path, what=what, fix=fix))
        edited = EditedModule(path=path, upstream=before, operations=operations, now=now, wanted=bare)
        if same_program(bare, now, Module(path, before).definitions.keys()):
            # No operation is made for comments alone: a wheel's summary would show nothing.
            plan.operations += _with_other_comments(edited)
            plan.layouts.append(path)
            return
        derived = derive(edited)
        self._refuse(path, derived.given_up)
        plan.operations += derived.changes
        plan.orders[path] = top_names(Module(path, bare))
        if derived.before is not None:
            self._patch_below(plan, path, derived.before, derived.given_up)
        if derived.result != bare:
            plan.layouts.append(path)

    def _refuse(self, path: str, given_up: tuple[Operation, ...]) -> None:
        """Refuse to replace operations by a patch: those that other pins have too, and others unless it was asked."""
        own = self._subject.content.overlay.chain[-1].name
        foreign = [one for one in given_up if one.layer != own]
        if foreign:
            what = f"was changed in text of the layer {foreign[0].layer}, and no operation can express the change"
            fix = f"edit {foreign[0].where} by hand, or leave that text as it was"
            raise MergeError(Problem(where=path, what=what, fix=fix))
        if given_up and not self._as_patch:
            named = listed_with_reasons(given_up)
            what = f"no operation can express the change, and a patch of it would overlap {named}"
            fix = (
                "move what is new into a definition, or between upstream's own lines; or make one patch of it"
                " and of those operations, with their reasons"
            )
            raise MergeError(Problem(where=path, what=what, fix=fix, options=(("--as-patch", ""),)))

    def _patch_below(
        self, plan: RefreshPlan, path: str, after: bytes | None, instead: tuple[Operation, ...] = ()
    ) -> None:
        known = None if instead else last_patch(self._subject.content.patches, path)
        plan.patches.append(PatchChange(path=path, after=after, known=known, instead=instead))

    def _text(self, plan: RefreshPlan, one: EditedFile) -> None:
        content = self._subject.content
        text = EditedText(
            path=one.path,
            before=self.patched.after(one.path),
            edits=tuple(edit for edit in content.edits if edit.path == one.path),
            now=self._marked.after(one.path),
            wanted=one.content,
            patched=last_patch(content.patches, one.path) is not None,
        )
        found = substituted(text)
        if found is None:
            what = (
                "was changed so that text of substitutions and of upstream cannot be told apart: neither they,"
                " nor a few new ones, nor a patch below them give the edited file"
            )
            stated = listing(dict.fromkeys(each.where for each in text.edits))
            fix = f"edit {stated} by hand, or change less of this file at once"
            raise MergeError(Problem(where=one.path, what=what, fix=fix))
        plan.edits += found.edits
        for after in found.below:
            self._patch_below(plan, one.path, after)


def _check_syntax(path: str, edited: bytes) -> None:
    """Check that an edited module is Python; raises `MergeError` with the line."""
    try:
        Module(path, edited)
    except MergeError as error:
        fix = "correct the syntax in the checkout"
        raise MergeError(dataclasses.replace(one, fix=one.fix or fix) for one in error.problems) from error


def _with_other_comments(edited: EditedModule) -> list[OperationChange]:
    """Return the changes of operations in whose text only comments differ; none if these need a patch."""
    if not edited.operations:
        return []
    derived = derive(edited)
    if derived.before is not None:
        return []
    found: list[OperationChange] = []
    for one in derived.changes:
        if one.known and one.wanted and one.known.action == one.wanted.action:
            found.append(one)
    return found


def _is_text(content: bytes) -> bool:
    """Return whether a module is in the encoding that it declares; any other is for patches."""
    try:
        content.decode(encoding_of(content))
    except (SyntaxError, UnicodeDecodeError):
        return False
    return True


def without_notices(edited: bytes, marked: bytes, plain: bytes) -> bytes:
    """Return a text without the comments that a merge puts in to mark its changes, wherever they stand now.

    `marked` and `plain` are the module merged with and without these comments.
    """
    # The longest first.
    blocks = sorted(set(_notices(marked.splitlines(), plain.splitlines())), key=len, reverse=True)
    lines = edited.splitlines(keepends=True)
    bare = [line.strip() for line in lines]
    kept: list[bytes] = []
    at = 0
    while at < len(lines):
        found = next((block for block in blocks if tuple(bare[at : at + len(block)]) == block), ())
        if not found:
            kept.append(lines[at])
        at += len(found) or 1
    return b"".join(kept)


def _notices(marked: Sequence[bytes], plain: Sequence[bytes]) -> Iterator[_Block]:
    """Yield runs of lines that only the marked module has, without white space around them."""
    at = 0
    block: list[bytes] = []
    for line in marked:
        if at < len(plain) and line == plain[at]:
            at += 1
            if block:
                yield tuple(block)
            block = []
        else:
            block.append(line.strip())
    if block:
        yield tuple(block)
