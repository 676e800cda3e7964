"""Forms: patches that were applied → the files of an overlay that give the same tree, as patches or as operations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from npu_overlays.authoring.import_patches.applied_patches import PatchStep, explained
from npu_overlays.authoring.init.init import StagedOverlay
from npu_overlays.authoring.refresh.edited_files import EditedFile
from npu_overlays.authoring.refresh.equivalence import unlike
from npu_overlays.authoring.refresh.layer_writer import LayerWriter, layer_named
from npu_overlays.authoring.refresh.patch_text import patch_between
from npu_overlays.authoring.refresh.placement import LayerFile, staged
from npu_overlays.authoring.refresh.plan import RefreshPlan
from npu_overlays.authoring.refresh.planner import Planner
from npu_overlays.authoring.refresh.reasons import joined
from npu_overlays.changes.patch_series import Remaining, ineffective, remaining
from npu_overlays.changes.reconciliation import declarations, reconcile
from npu_overlays.changes.tree_comparison import compare_trees
from npu_overlays.checks.patched_tree import apply_overlay
from npu_overlays.contracts.form_targets import found_content
from npu_overlays.errors import MergeError, OverlayError, Problem, listing
from npu_overlays.files import write_file
from npu_overlays.merge.apply import apply_part
from npu_overlays.merge.module_deletion import written_out
from npu_overlays.merge.results import PatchedFile
from npu_overlays.overlay.bounds import Bounds
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.content import Content, needs_version
from npu_overlays.overlay.layer_content import OverlayFile
from npu_overlays.overlay.operations import ACTIONS, Grounds
from npu_overlays.overlay.patches import stated_reason
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.sections import letter
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.pipeline.upstream import upstream_metadata
from npu_overlays.sources.tree import PatchedTree

FormKind = Literal["patches", "operations"]
KINDS: tuple[FormKind, ...] = ("patches", "operations")
# Lines that other programs write between a letter and the names of a file.
_NO_LETTER = re.compile(rb"^(?:Index: .*|=+|diff .*)\n", re.MULTILINE)
Why = Callable[[str, str], str]


@dataclass(frozen=True, kw_only=True)
class ProvenForm:
    """A form that gives the same tree as the patches."""

    # Modules that are the same program, with other comments, blank lines or places of imports.
    otherwise: tuple[str, ...]
    # Problems for which a build refuses the tree, and its other messages.
    unsound: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()


class FormBuilder:
    """Makes the files of an overlay that changes nothing yet, of patches that were applied one after the other."""

    def __init__(self, new: StagedOverlay, taken: Sequence[PatchStep]) -> None:
        self._new = new
        self._taken = taken
        self._upstream = PatchedTree(upstream=new.tree)
        self._wanted = taken[-1].after if taken else self._upstream
        self._stated = StatedReasons(taken)

    def files(self, kind: FormKind, why: Why) -> tuple[LayerFile, ...]:
        """Return the files of one form; raises `MergeError` if it cannot give the tree.

        `why` returns the reason of a change that has none, by action and target.
        """
        return tuple(self._patches(why) if kind == "patches" else self._operations(why))

    def unexplained(self, kind: FormKind) -> Iterator[tuple[str, str]]:
        """Yield what needs a reason: the action, and its target."""
        if kind == "patches":
            for one in self._taken:
                if not grounds_of(one).reason.why:
                    yield "patch", one.file.path
        else:
            for action, target in self.plan.unexplained():
                if not self._stated.of(target).reason.why:
                    yield action, target

    def counts(self) -> dict[str, int]:
        """Return how many operations of each action, files, edits and patches the form as operations has."""
        plan = self.plan
        actions = Counter(one.wanted.action for one in plan.operations if one.wanted)
        counted: dict[str, int] = {action: actions[action] for action in ACTIONS}
        counted |= {"files": len(plan.files), "edits": len(plan.edits), "patches": len(plan.patches)}
        return {name: number for name, number in counted.items() if number}

    def prove(self, files: Sequence[LayerFile]) -> ProvenForm:
        """Return what a form's files give, proven to be the patches' tree; raises `OverlayError` if it is not."""
        with staged(self._subject.content.overlay, files) as overlay:
            content = self._content(overlay)
            tree = apply_part(content, self._new.tree, notices=False)
            if wrong := [*unlike(tree, self.edited, besides=self._upstream), *self._modes(tree)]:
                bounded = [Path(one.file.file).name for one in self._taken if one.file.bounds]
                bounds = f"see that Since and Until of {listing(bounded)} hold for the version that is pinned; "
                fix = f"{bounds if bounded else ''}split the patches into smaller ones, or report this"
                raise MergeError(
                    [Problem(where=path, what="would differ from what the patches give", fix=fix) for path in wrong]
                )
            touched = sorted({*tree.changed, *(one.path for one in self.edited)})
            otherwise = tuple(path for path in touched if tree.after(path) != self._wanted.after(path))
            return _tried(content, self._new, otherwise)

    def write(self, files: Sequence[LayerFile]) -> None:
        """Write a form's files into the new overlay; raises `OverlayError` if it cannot be read then."""
        for file in files:
            if file.content is not None:
                write_file(self._new.stage / file.path, file.content, executable=file.executable)
        self._content(load_overlay(self._new.stage))

    @property
    def edited(self) -> tuple[EditedFile, ...]:
        """The files that the patches change, as they leave them."""
        wanted = self._wanted
        found: list[EditedFile] = []
        for path in sorted(wanted.changed):
            content = wanted.after(path)
            if self._new.overlay.pin.place(path) and content != wanted.before(path):
                found.append(EditedFile(path=path, content=content, executable=wanted.is_executable(path)))
        return tuple(found)

    @cached_property
    def plan(self) -> RefreshPlan:
        """What the form as operations is made of; raises `MergeError` if nothing gives a file."""
        return Planner(self._subject, self._upstream).plan(self.edited)

    @cached_property
    def _subject(self) -> AppliedInput:
        content = found_content(load_overlay(self._new.stage), "", self._new.tree)
        return AppliedInput(content=content, tree=self._new.tree, absent=frozenset())

    def _content(self, overlay: Overlay) -> Content:
        """Return what the new overlay says with the files of a form; raises `OverlayError`."""
        tree = self._new.tree
        version = upstream_metadata(tree).version if needs_version(overlay) else ""
        return written_out(found_content(overlay, version, tree), tree)

    def _patches(self, why: Why) -> Iterator[LayerFile]:
        layer = layer_named(self._subject, "")
        for one in self._taken:
            file = one.file if grounds_of(one).reason.why else explained(one.file, why("patch", one.file.path))
            content = self._remade(one, file) if one.remade else file.content
            if content:
                yield LayerFile(layer=layer, path=f"patches/{file.path}", content=content)

    def _remade(self, one: PatchStep, file: OverlayFile) -> bytes:
        """Return a patch in git's form that changes shipped files in the same way; empty if it changes none."""
        shipped = filter(self._new.overlay.pin.place, one.paths)
        after = {path: (one.after.after(path), one.after.is_executable(path)) for path in shipped}
        above = _NO_LETTER.sub(b"", letter(file.content)).rstrip(b"\n")
        return above + b"\n\n" + patch_between(one.before, after) if after else b""

    def _operations(self, why: Why) -> tuple[LayerFile, ...]:
        layer = layer_named(self._subject, "")
        writer = LayerWriter(self._subject, layer, lambda action, target: self._grounds(action, target, why))
        return writer.write(self.plan, self._upstream)

    def _grounds(self, action: str, target: str, why: Why) -> Grounds:
        """Return the grounds that patches give for a change, with a person's reason where they give none."""
        said = self._stated.of(target)
        if said.reason.why or action == "file":
            return said
        return replace(said, reason=replace(said.reason, why=why(action, target)))

    def _modes(self, tree: PatchedTree) -> list[str]:
        known = filter(self._wanted.changed.__contains__, tree.paths())
        return [path for path in known if tree.is_executable(path) != self._wanted.is_executable(path)]


def _tried(content: Content, new: StagedOverlay, otherwise: tuple[str, ...]) -> ProvenForm:
    """Return a form as proven, with the problems for which a build refuses its tree, or the build's messages."""
    try:
        applied = apply_overlay(content, new.tree)
        reconcile(applied.tree, compare_trees(applied.tree), declarations(applied), overlay=content.overlay.name)
    except OverlayError as error:
        return ProvenForm(otherwise=otherwise, unsound=error.problems)
    return ProvenForm(otherwise=otherwise, notices=tuple(ineffective(content.patches, applied.patched)))


def grounds_of(one: PatchStep) -> Grounds:
    """Return the reason, bounds and acceptances that a patch gives for all of its changes."""
    file = one.file
    return Grounds(reason=stated_reason(file.content, file.bounds), bounds=file.bounds, accept=one.patch.accept)


class StatedReasons:
    """The reasons that patches give, in their order, for those of their changes that no later patch reverts."""

    def __init__(self, taken: Sequence[PatchStep]) -> None:
        self._grounds = {one.file.file: grounds_of(one) for one in taken}
        files: list[PatchedFile] = []
        for one in taken:
            for path in one.paths:
                file = PatchedFile(
                    patch=one.file.path,
                    path=path,
                    before=one.before.after(path),
                    after=one.after.after(path),
                    reason=one.patch.reason,
                    layer="",
                    where=one.file.file,
                )
                files.append(file)
        self._remaining = remaining(files)

    def of(self, target: str) -> Grounds:
        """Return the grounds of a path, or of ``path:symbol``; with an empty reason where no patch gives one.

        Raises:
            MergeError: several patches change it, and are for different versions, or can go at different times.
        """
        path, _, symbol = target.partition(":")
        here = [one for one in self._remaining if one.place.path == path]
        named = [one for one in here if symbol and _is_related(symbol, one)]
        parts = {one.effect.one.where: self._grounds[one.effect.one.where] for one in named or here}
        when = {(one.bounds, one.reason.drop_when) for one in parts.values()}
        if len(when) > 1:
            what = f"is changed by patches with different versions or drop conditions: {', '.join(parts)}"
            raise MergeError(
                Problem(
                    where=target,
                    what=what,
                    fix="give them the same Since, Until and Drop-when, or keep them as patches",
                )
            )
        return joined(list(parts.values()), *next(iter(when), (Bounds(), "")))


def _is_related(symbol: str, one: Remaining) -> bool:
    """Return whether a symbol is the one of a remaining change, contains it, or is a member of it."""
    other = one.place.symbol
    return f"{other}.".startswith(f"{symbol}.") or f"{symbol}.".startswith(f"{other}.")
