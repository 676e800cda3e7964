"""Steps: the tree so far and one item of an overlay → the changed tree, and the declared changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from npu_overlays.errors import MergeError, Problem, listing, nearest, suggestion
from npu_overlays.merge.authorship import Authorship, by_lines, written
from npu_overlays.merge.module_merge import merged_module
from npu_overlays.merge.patch_application import apply_patch
from npu_overlays.merge.results import Declared, NotApplied, PatchedFile
from npu_overlays.merge.settings_text import ENDINGS, repeated_keys
from npu_overlays.model import Model
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.layer_content import OverlayFile, SourcedEdit, file_reason
from npu_overlays.overlay.operations import Operation, Reason
from npu_overlays.overlay.patches import line_of, read_patch
from npu_overlays.overlay.project import TextEdit
from npu_overlays.sources.tree import PatchedTree
from npu_summary.plurals import plural


@dataclass(frozen=True, kw_only=True)
class Step:
    """The result of applying one item of an overlay to a tree."""

    # New content by repository path; None where a file goes
    changed: Mapping[str, bytes | None] = field(default_factory=dict)
    modes: Mapping[str, bool] = field(default_factory=dict)  # paths that become executable, or are so no more
    # Who wrote which bytes of a file, given the file before this step
    authorship: Mapping[str, Authorship] = field(default_factory=dict)
    declared: tuple[Declared, ...] = ()  # the changes that operations and added files declare
    patched: tuple[PatchedFile, ...] = ()  # files before and after a patch or a substitution
    not_applied: tuple[NotApplied, ...] = ()  # operations on files that this source lacks


@dataclass(frozen=True, kw_only=True)
class MergeContext:
    """The input of a step."""

    content: Content  # the whole overlay
    tree: PatchedTree  # as the steps before left it
    notices: bool  # whether comments mark the changed places
    model: Model  # of the tree before any operation

    @property
    def absent(self) -> frozenset[str]:
        """Paths that the commit holds and this source lacks."""
        return self.model.absent

    def check_shipped(self, paths: Iterable[str], where: str, patch: OverlayFile | None = None) -> None:
        """Refuse a change, as a patch may make it, to a file that no wheel holds."""
        outside = [path for path in paths if not self.content.overlay.pin.place(path)]
        if outside:
            what = f"changes what lies in none of tool.overlay.packages and is not shipped: {', '.join(outside)}"
            where = patch.at(line_of(patch.content, outside[0])) if patch else where
            raise MergeError(
                Problem(where=where, what=what, fix="take it out, or name its folder in tool.overlay.packages")
            )

    def read(self, path: str, where: str, what: str) -> bytes:
        """Return a file of the tree; raises `MergeError` with `what` if it is absent."""
        content = self.tree.after(path)
        if content is None:
            raise MergeError(Problem(where=where, what=what, fix=nearest_file(self.tree.upstream.entries, path)))
        return content


def nearest_file(paths: Iterable[str], path: str) -> str:
    """Return the tree's path that is most similar to a missing one, as a fix."""
    known, leaf = list(paths), path.rpartition("/")[2]
    same = [other for other in known if other.rpartition("/")[2] == leaf]
    close = nearest(path, same or known, 0.4)
    return suggestion(close, "correct the path")


def patch_step(ground: MergeContext, file: OverlayFile) -> Step:
    """Return the result of a patch; raises `MergeError` if it does not fit."""
    patch = read_patch(file)
    ground.check_shipped(patch.paths, file.file, file)
    made = apply_patch(patch, ground.tree, absent=ground.absent)
    authorship: dict[str, Authorship] = {}
    patched: list[PatchedFile] = []
    for path, after in made.changed.items():
        before = ground.tree.after(path)
        if after is not None:
            authorship[path] = by_lines(before or b"", after, file.file)
        patched.append(
            PatchedFile(
                patch=file.path,
                path=path,
                before=before,
                after=after,
                reason=patch.reason,
                layer=file.layer,
                where=file.file,
                accept=patch.accept,
            )
        )
    lost: list[NotApplied] = []
    for path in sorted(ground.absent & set(patch.paths)):
        lost.append(NotApplied(path=path, symbol="", operation="patch", why=patch.reason.why))
    return Step(
        changed=made.changed,
        modes=made.modes,
        authorship=authorship,
        patched=tuple(patched),
        not_applied=tuple(lost),
    )


def edit_step(ground: MergeContext, sourced: SourcedEdit) -> Step:
    """Return the result of a substitution in a file that is not Python; raises `MergeError` if it does not fit."""
    edit, path, where = sourced.edit, sourced.path, sourced.where
    ground.check_shipped([path], where)
    if path in ground.absent:
        return Step(not_applied=(NotApplied(path=path, symbol="", operation="edit", why=edit.why),))
    before = ground.read(path, where, "upstream has no such file")
    find = edit.find.encode()
    count = before.count(find) if find else 0
    if count != edit.count:
        what = f"`{edit.find}` occurs {count} times, expected {edit.count}"
        below = _layer_below(ground.content.edits, sourced)
        fix = f"delete it here: {below}, which lies below, substitutes it already" if below else ""
        if before.count(find.replace(b"\n", b"\r\n")) == edit.count and not count:
            fix = r"write \r\n in find and replace, as upstream's lines end"
        raise MergeError(Problem(where=where, what=what, fix=fix or _times(edit, count)))
    after = before.replace(find, edit.replace.encode())
    _check_keys(path, before, after, where)
    reason = Reason(why=edit.why)
    patched = PatchedFile(
        patch="",
        path=path,
        before=before,
        after=after,
        reason=reason,
        layer=sourced.layer,
        where=where,
        accept=edit.accept,
    )
    return Step(changed={path: after}, patched=(patched,))


def _times(edit: TextEdit, count: int) -> str:
    """Return what to do about a substitution whose text occurs another number of times than it says."""
    if not count:
        return "copy the text from upstream's file into find"
    change = "lengthen" if count > edit.count else "shorten"
    return f"{change} find until it occurs {plural(edit.count, 'time')}, or set count = {count}"


def _check_keys(path: str, before: bytes, after: bytes, where: str) -> None:
    """Refuse a key that YAML then has twice: parsers take the last one, or fail."""
    if not path.endswith(ENDINGS):
        return
    if repeated := repeated_keys(before.decode(errors="replace"), after.decode(errors="replace")):
        what = f"{path} would have {listing(f'`{key}`' for key in repeated)} twice"
        raise MergeError(
            Problem(
                where=where,
                what=what,
                fix="delete what adds it here: upstream has it now, or another substitution adds it",
            )
        )


def _layer_below(edits: Iterable[SourcedEdit], sourced: SourcedEdit) -> str:
    """Return the lowest layer below a substitution's that has the same find in the same file, or an empty text."""
    same = [one.layer for one in edits if (one.path, one.edit.find) == (sourced.path, sourced.edit.find)]
    return next((layer for layer in same[: same.index(sourced.layer)] if layer != sourced.layer), "")


def file_step(ground: MergeContext, file: OverlayFile) -> Step:
    """Return the result of adding a file; raises `MergeError` if the tree has it already."""
    if file.path in ground.tree.upstream or file.path in ground.absent:
        python = file.path.endswith(".py")
        fix = "mark what changes with npu_overlays.markers" if python else "use [[tool.overlay.edit]] or a patch"
        raise MergeError(Problem(where=file.file, what=f"upstream already has {file.path}", fix=fix))
    ground.check_shipped([file.path], file.file)
    if ground.tree.after(file.path) is not None:
        raise MergeError(
            Problem(
                where=file.file, what="a patch makes this file too", fix="delete this file, or take it out of the patch"
            )
        )
    reason = Reason(why=file_reason(file))
    declared = Declared(path=file.path, symbol="", operation="file", reason=reason, layer=file.layer, where=file.file)
    return Step(
        changed={file.path: file.content},
        modes={file.path: True} if file.executable else {},
        authorship={file.path: written(file.content, file.file)},
        declared=(declared,),
    )


def merge_step(ground: MergeContext, path: str, operations: Sequence[Operation]) -> Step:
    """Return the result of all operations on one module; raises `MergeError` with each that does not fit."""
    where = operations[0].where
    ground.check_shipped([path], where)
    if path in ground.absent:
        lost: list[NotApplied] = []
        for one in operations:
            lost.append(NotApplied(path=path, symbol=one.symbol, operation=one.action, why=one.reason.why))
        return Step(not_applied=tuple(lost))
    before = ground.read(path, where, f"upstream has no {path}")
    overlay = ground.content.overlay
    name = overlay.distribution if ground.notices else ""
    result = merged_module(path, before, operations, distribution=name, purpose=overlay.purpose, model=ground.model)
    return Step(changed={path: result.content}, declared=result.declared, authorship={path: result.authorship})
