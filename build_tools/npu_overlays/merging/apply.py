"""Apply: source tree and overlay → patched tree, and what was declared to change.

Order: patches, then substitutions in non-Python files, then added files, then
merges. Every input is used exactly once, or the stage fails and names it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from npu_overlays.errors import MergeError, OverlayError, Problem, by_cause, listing
from npu_overlays.merging.authorship import Authorship, by_lines, written
from npu_overlays.merging.gate.gate import check
from npu_overlays.merging.merge import merged_module
from npu_overlays.merging.patches import apply_patch
from npu_overlays.merging.results import Applied, Declared, NotApplied, PatchedFile
from npu_overlays.merging.settings_text import ENDINGS, repeated_keys
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import Operation, Reason
from npu_overlays.overlay.patches import read_patch
from npu_overlays.overlay.said import OverlayFile, SourcedEdit, file_reason
from npu_overlays.tree import PatchedTree, SourceTree


@dataclass(kw_only=True)
class _Applier:
    content: Content
    source: SourceTree
    absent: frozenset[str]
    notices: bool = True
    changed: dict[str, bytes | None] = field(default_factory=dict)
    authorship: dict[str, Authorship] = field(default_factory=dict)
    executable: set[str] = field(default_factory=set)
    declared: list[Declared] = field(default_factory=list)
    patched: list[PatchedFile] = field(default_factory=list)
    not_applied: list[NotApplied] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def tree(self) -> PatchedTree:
        return PatchedTree(upstream=self.source, changed=dict(self.changed), executable=frozenset(self.executable))

    def attempt(self, step: Callable[[], None]) -> None:
        """Run one step, keeping its problems so that the next steps can report theirs."""
        try:
            step()
        except OverlayError as error:
            self.problems.extend(error.problems)


def apply_overlay(content: Content, source: SourceTree, *, absent: frozenset[str] = frozenset()) -> Applied:
    """Apply everything an overlay says to the pinned source.

    Args:
        content: the overlay.
        source: upstream's files.
        absent: paths the commit holds and this source is known to lack; operations on them are
            listed as not applied instead of failing.

    Raises:
        MergeError: with everything that does not fit.
    """
    applier = _applier(content, source, absent, notices=True)
    if not applier.problems:
        applier.attempt(partial(check, applier.tree, content, applier.authorship, absent=absent))
    if applier.problems:
        raise MergeError(by_cause(applier.problems))
    return Applied(
        tree=applier.tree,
        declared=tuple(applier.declared),
        patched=tuple(applier.patched),
        not_applied=tuple(applier.not_applied),
    )


def apply_part(
    content: Content, source: SourceTree, *, absent: frozenset[str] = frozenset(), notices: bool = True
) -> PatchedTree:
    """Apply a part of an overlay, which need not run by itself.

    Args:
        content: the part.
        source: upstream's files.
        absent: as for `apply_overlay`.
        notices: whether comments mark the changed places, as in a wheel.

    Raises:
        MergeError: with everything that does not fit.
    """
    applier = _applier(content, source, absent, notices=notices)
    if applier.problems:
        raise MergeError(by_cause(applier.problems))
    return applier.tree


def _applier(content: Content, source: SourceTree, absent: frozenset[str], *, notices: bool) -> _Applier:
    """Return what applying everything that is said gave, and everything that does not fit."""
    applier = _Applier(content=content, source=source, absent=absent, notices=notices)
    for file in content.patches:
        applier.attempt(partial(_patch, applier, file))
    for edit in content.edits:
        applier.attempt(partial(_edit, applier, edit))
    for file in content.files:
        applier.attempt(partial(_add, applier, file))
    for path, operations in _by_path(content.operations).items():
        applier.attempt(partial(_merge, applier, path, operations))
    return applier


def _by_path(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    grouped: dict[str, list[Operation]] = {}
    for operation in operations:
        grouped.setdefault(operation.path, []).append(operation)
    return grouped


def _patch(applier: _Applier, file: OverlayFile) -> None:
    patch = read_patch(file)
    _refuse_unshipped(applier, patch.paths, patch.source.file)
    changed = apply_patch(patch, applier.tree, absent=applier.absent)
    for path, after in changed.items():
        if after is not None:
            _author(applier, path, by_lines(applier.tree.after(path) or b"", after, patch.source.file))
    applier.patched += [
        PatchedFile(
            patch=patch.source.path,
            path=path,
            before=applier.tree.after(path),
            after=after,
            reason=patch.reason,
            layer=patch.source.layer,
            where=patch.source.file,
        )
        for path, after in changed.items()
    ]
    applier.changed.update(changed)
    for path in sorted(applier.absent & set(patch.paths)):
        applier.not_applied.append(NotApplied(path=path, symbol="", operation="patch", why=patch.reason.why))


def _author(applier: _Applier, path: str, authorship: Authorship) -> None:
    """Note who wrote which bytes of a file, given that of the last change made to it."""
    earlier = applier.authorship.get(path)
    applier.authorship[path] = authorship.behind(earlier) if earlier else authorship


def _refuse_unshipped(applier: _Applier, paths: Iterable[str], where: str) -> None:
    """Refuse a change that no wheel would hold, and that its summary would tell of all the same."""
    pin = applier.content.overlay.pin
    outside = [path for path in paths if not pin.place(path)]
    if outside:
        what = f"changes what lies in none of tool.overlay.packages and is not shipped: {', '.join(outside)}"
        raise MergeError(Problem(where=where, what=what, fix="leave it out, or ship its folder"))


def _edit(applier: _Applier, sourced: SourcedEdit) -> None:
    edit, path = sourced.edit, sourced.path
    where = sourced.where
    _refuse_unshipped(applier, [path], where)
    if path in applier.absent:
        applier.not_applied.append(NotApplied(path=path, symbol="", operation="edit", why=edit.why))
        return
    before = applier.tree.after(path)
    if before is None:
        raise MergeError(Problem(where=where, what="upstream has no such file", fix=_nearest_path(applier, path)))
    find, replace = edit.find.encode(), edit.replace.encode()
    count = before.count(find) if find else 0
    if count != edit.count:
        what = f"`{edit.find}` occurs {count} times, expected {edit.count}"
        earlier = [one.layer for one in applier.content.edits if one.path == path and one.edit.find == edit.find]
        said = [overlay for overlay in earlier[: earlier.index(sourced.layer)] if overlay != sourced.layer]
        fix = f"{said[0]}, which lies below, substitutes it already: delete it here" if said else ""
        raise MergeError(Problem(where=where, what=what, fix=fix or "mend find, or set count"))
    after = before.replace(find, replace)
    _refuse_repeated(path, before, after, where)
    applier.changed[path] = after
    done = PatchedFile(
        patch="",
        path=path,
        before=before,
        after=after,
        reason=Reason(why=edit.why),
        layer=sourced.layer,
        where=where,
    )
    applier.patched.append(done)


def _refuse_repeated(path: str, before: bytes, after: bytes, where: str) -> None:
    """Refuse a key that YAML then has twice: of two, the last one counts, or none can be read."""
    texts = (content.decode(errors="replace") for content in (before, after))
    if path.endswith(ENDINGS) and (repeated := repeated_keys(*texts)):
        what = f"{path} would have {listing(f'`{key}`' for key in repeated)} twice"
        raise MergeError(Problem(where=where, what=what, fix="upstream has it now, or another substitution adds it"))


def _add(applier: _Applier, file: OverlayFile) -> None:
    if file.path in applier.source or file.path in applier.absent:
        fix = (
            "mark what changes with npu_overlays.markers"
            if file.path.endswith(".py")
            else "use [[tool.overlay.edit]] or a patch"
        )
        raise MergeError(Problem(where=file.file, what=f"upstream already has {file.path}", fix=fix))
    _refuse_unshipped(applier, [file.path], file.file)
    if applier.changed.get(file.path) is not None:
        raise MergeError(Problem(where=file.file, what="a patch makes this file too", fix="keep one of them"))
    applier.changed[file.path] = file.content
    _author(applier, file.path, written(file.content, file.file))
    if file.executable:
        applier.executable.add(file.path)
    reason = Reason(why=file_reason(file))
    applier.declared.append(
        Declared(path=file.path, symbol="", operation="file", reason=reason, layer=file.layer, where=file.file)
    )


def _merge(applier: _Applier, path: str, operations: list[Operation]) -> None:
    _refuse_unshipped(applier, [path], operations[0].where)
    if path in applier.absent:
        applier.not_applied += [
            NotApplied(path=path, symbol=one.symbol, operation=one.action, why=one.reason.why) for one in operations
        ]
        return
    before = applier.tree.after(path)
    if before is None:
        raise MergeError(
            Problem(where=operations[0].where, what=f"upstream has no {path}", fix=_nearest_path(applier, path))
        )
    overlay = applier.content.overlay
    name = overlay.distribution if applier.notices else ""
    result = merged_module(path, before, operations, distribution=name, purpose=overlay.purpose)
    applier.changed[path] = result.content
    applier.declared += result.declared
    _author(applier, path, result.authorship)


def _nearest_path(applier: _Applier, path: str) -> str:
    leaf = path.rpartition("/")[2]
    known = [other for other in applier.source.entries if other.rpartition("/")[2] == leaf] or list(
        applier.source.entries
    )
    close = difflib.get_close_matches(path, known, n=1, cutoff=0.4)
    return f"nearest: {close[0]}" if close else ""
