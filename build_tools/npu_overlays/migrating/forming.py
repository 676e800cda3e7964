"""Forming: patches that were applied → the files of an overlay that give the same tree, as patches or as operations."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from npu_overlays.changes.patch_series import ineffective
from npu_overlays.changes.reconciliation import declarations, reconcile
from npu_overlays.changes.tree_comparison import compare_trees
from npu_overlays.errors import MergeError, OverlayError, Problem, listing
from npu_overlays.merging.apply import apply_overlay, apply_part
from npu_overlays.merging.emptying import written_out
from npu_overlays.migrating.applying import Taken, explained
from npu_overlays.migrating.stating import Stated, grounds_of
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.content import Content, load_content, needs_version
from npu_overlays.overlay.layer_content import OverlayFile
from npu_overlays.overlay.operations import ACTIONS, Grounds
from npu_overlays.overlay.sections import letter
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.pipeline.upstream import upstream_metadata
from npu_overlays.refreshing.edited import Edited
from npu_overlays.refreshing.patching import patch_between
from npu_overlays.refreshing.plan import Plan
from npu_overlays.refreshing.planning import Planner
from npu_overlays.refreshing.proving import unlike
from npu_overlays.refreshing.writing import Writer, layer_named
from npu_overlays.sources.tree import PatchedTree
from npu_overlays.starting.writing import Begun

Kind = Literal["patches", "operations"]
# What other programs write between a letter and the names of a file.
_NO_LETTER = re.compile(rb"^(?:Index: .*|=+|diff .*)\n", re.MULTILINE)
Why = Callable[[str, str], str]


@dataclass(frozen=True, kw_only=True)
class Written:
    """A file of an overlay."""

    path: str
    content: bytes
    executable: bool = False


@dataclass(frozen=True, kw_only=True)
class Proven:
    """What was seen of a form: it gives the same tree.

    Args:
        otherwise: modules that are the same program, with other comments, blank lines or places of imports.
        unsound: what a build refuses in that tree.
        notices: what a build says of it besides.
    """

    otherwise: tuple[str, ...]
    unsound: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()


class Former:
    """Makes the files of an overlay.

    Args:
        new: the overlay, which changes nothing yet.
        taken: the patches, applied one after the other.
    """

    def __init__(self, new: Begun, taken: Sequence[Taken]) -> None:
        self._new = new
        self._taken = taken
        self._upstream = PatchedTree(upstream=new.tree)
        self._wanted = taken[-1].after if taken else self._upstream
        self._plan: Plan | None = None
        self._stated = Stated(taken)

    def files(self, kind: Kind, why: Why) -> tuple[Written, ...]:
        """Return the files of one form; raises `MergeError` where there are none.

        Args:
            kind: which.
            why: returns the reason of something that has none, given what is done, and to what.
        """
        return tuple(self._patches(why) if kind == "patches" else self._operations(why))

    def unexplained(self, kind: Kind) -> Iterator[tuple[str, str]]:
        """Yield what needs a reason: what is done, and to what."""
        if kind == "patches":
            yield from (("patch", one.file.path) for one in self._taken if not grounds_of(one).reason.why)
        else:
            yield from (new for new in self.plan.unexplained() if not self._stated.of(new[1]).reason.why)

    def counts(self) -> dict[str, int]:
        """Return how many there are of each thing that the form as operations says."""
        plan = self.plan
        counted: dict[str, int] = {
            action: sum(one.wanted.action == action for one in plan.operations if one.wanted) for action in ACTIONS
        }
        counted |= {"files": len(plan.files), "edits": len(plan.edits), "patches": len(plan.patches)}
        return {name: number for name, number in counted.items() if number}

    def prove(self, files: Iterable[Written]) -> Proven:
        """See that files give the tree that the patches give; raises `OverlayError` where they do not."""
        with tempfile.TemporaryDirectory(prefix="npu-overlays-import-") as place:
            folder = Path(place) / "overlay"
            shutil.copytree(self._new.stage, folder)
            content = write(folder, files, self._new)
            tree = apply_part(content, self._new.tree, notices=False)
            if wrong := [*unlike(tree, self.edited, besides=self._upstream), *self._modes(tree)]:
                bounded = [Path(one.file.file).name for one in self._taken if one.file.bounds]
                bounds = f"see that Since and Until of {listing(bounded)} hold for the version that is pinned; "
                fix = f"{bounds if bounded else ''}make smaller patches, or report this"
                raise MergeError([Problem(where=path, what="would come out otherwise", fix=fix) for path in wrong])
            touched = sorted({*tree.changed, *(one.path for one in self.edited)})
            otherwise = tuple(path for path in touched if tree.after(path) != self._wanted.after(path))
            return _tried(content, self._new, otherwise)

    @property
    def edited(self) -> tuple[Edited, ...]:
        """The files that the patches change, as they leave them."""
        wanted, shipped = self._wanted, self._new.overlay.pin.place
        changed = (
            path for path in sorted(wanted.changed) if shipped(path) and wanted.after(path) != wanted.before(path)
        )
        return tuple(
            Edited(path=path, content=wanted.after(path), executable=wanted.is_executable(path)) for path in changed
        )

    @property
    def plan(self) -> Plan:
        """What the form as operations is made of; raises `MergeError` where nothing gives a file."""
        if self._plan is None:
            self._plan = Planner(self._subject(), self._upstream).plan(self.edited)
        return self._plan

    def _subject(self) -> AppliedInput:
        content = load_content(load_overlay(self._new.stage), "")
        return AppliedInput(content=content, tree=self._new.tree, absent=frozenset())

    def _patches(self, why: Why) -> Iterator[Written]:
        for one in self._taken:
            file = one.file if grounds_of(one).reason.why else explained(one.file, why("patch", one.file.path))
            content = self._remade(one, file) if one.remade else file.content
            if content:
                yield Written(path=f"patches/{file.path}", content=content)

    def _remade(self, one: Taken, file: OverlayFile) -> bytes:
        """Return a patch in git's form that changes shipped files in the same way; empty where it changes none."""
        shipped = [path for path in one.paths if self._new.overlay.pin.place(path)]
        after = {path: (one.after.after(path), one.after.is_executable(path)) for path in shipped}
        above = _NO_LETTER.sub(b"", letter(file.content)).rstrip(b"\n")
        return above + b"\n\n" + patch_between(one.before, after) if after else b""

    def _operations(self, why: Why) -> Iterator[Written]:
        subject = self._subject()
        writer = Writer(subject, layer_named(subject, ""), lambda action, target: self._grounds(action, target, why))
        for file in writer.write(self.plan, self._upstream):
            if file.content is not None:
                yield Written(path=file.path, content=file.content, executable=file.executable)

    def _grounds(self, action: str, target: str, why: Why) -> Grounds:
        """Return what is said of something: by the patches that do it, or where they give no reason, by a person."""
        said = self._stated.of(target)
        if said.reason.why or action == "file":
            return said
        return replace(said, reason=replace(said.reason, why=why(action, target)))

    def _modes(self, tree: PatchedTree) -> list[str]:
        known = (path for path in tree.paths() if path in self._wanted.changed)
        return [path for path in known if tree.is_executable(path) != self._wanted.is_executable(path)]


def write(folder: Path, files: Iterable[Written], new: Begun) -> Content:
    """Write files of an overlay into its folder, and return all that it says then; raises `OverlayError`."""
    for file in files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(0o755 if file.executable else 0o644)
    overlay = load_overlay(folder)
    version = upstream_metadata(new.tree).version if needs_version(overlay) else ""
    return written_out(load_content(overlay, version), new.tree)


def _tried(content: Content, new: Begun, otherwise: tuple[str, ...]) -> Proven:
    """Return a form as proven, with what a build refuses of the tree that an overlay gives, or says of it."""
    try:
        applied = apply_overlay(content, new.tree)
        reconcile(applied.tree, compare_trees(applied.tree), declarations(applied), overlay=content.overlay.name)
    except OverlayError as error:
        return Proven(otherwise=otherwise, unsound=error.problems)
    return Proven(otherwise=otherwise, notices=tuple(ineffective(applied.patched)))
