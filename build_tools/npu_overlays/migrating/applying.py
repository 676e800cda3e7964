"""Applying: patches and the tree they are for → what each makes of it, and that this is what git makes of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from npu_overlays import git
from npu_overlays.changes.compare import FileChange, compare_file
from npu_overlays.errors import MergeError, Problem, listing
from npu_overlays.merging.patches import ambiguities, apply_as_git_does
from npu_overlays.overlay.patches import PatchFile, read_patch, stated_reason
from npu_overlays.overlay.said import OverlayFile
from npu_overlays.pin import Pin
from npu_overlays.proc import ProcessError
from npu_overlays.tree import PatchedTree, SourceTree


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A patch that was applied.

    Args:
        file: the patch, with a reason above it.
        patch: what it says.
        before: the tree it was applied to.
        after: the tree it left.
        ambiguous: the paths of which it has a hunk that fits in several places.
    """

    file: OverlayFile
    patch: PatchFile
    before: PatchedTree
    after: PatchedTree
    ambiguous: frozenset[str]

    def changes(self) -> Iterator[FileChange]:
        """Yield what it does to each file, by syntax."""
        for path in self.patch.paths:
            if change := compare_file(path, self.before.after(path), self.after.after(path)):
                yield change


def explained(file: OverlayFile, why: str) -> OverlayFile:
    """Return a patch that says why, for the reason it gives already or for this one."""
    if stated_reason(file.content, file.bounds).why:
        return file
    return replace(file, content=f"Why: {' '.join(why.split())}\n\n".encode() + file.content)


def read_patches(files: Iterable[OverlayFile]) -> list[PatchFile]:
    """Return what patches say; raises `MergeError` with everything that none of them may say."""
    read: list[PatchFile] = []
    problems: list[Problem] = []
    for file in files:
        try:
            read.append(replace(read_patch(explained(file, "x")), source=file))
        except MergeError as error:
            problems += error.problems
    if problems:
        raise MergeError(problems)
    return read


def take(patches: Sequence[PatchFile], tree: SourceTree, pin: Pin) -> tuple[Taken, ...]:
    """Apply patches one after the other.

    Raises:
        MergeError: with each that does not fit, or changes what is not shipped; one on files of which another does
            not fit is not tried.
    """
    taken: list[Taken] = []
    problems = list(_unshipped(patches, pin))
    lost: dict[str, str] = {}
    state = PatchedTree(upstream=tree)
    for patch in patches:
        if blamed := next((lost[path] for path in patch.paths if path in lost), ""):
            what, fix = (
                f"was not tried: it changes what {Path(blamed).name} does, which does not fit",
                "mend that first",
            )
            problems.append(Problem(where=patch.source.file, what=what, fix=fix))
            continue
        try:
            after = _applied(patch, state)
        except MergeError as error:
            problems += error.problems
            lost |= dict.fromkeys(patch.paths, patch.source.file)
            continue
        ambiguous = frozenset(
            hunk.path for hunk in patch.hunks if any(ambiguities(replace(patch, hunks=(hunk,)), state))
        )
        taken.append(Taken(file=patch.source, patch=patch, before=state, after=after, ambiguous=ambiguous))
        state = after
    if problems:
        raise MergeError(problems)
    return tuple(taken)


def _applied(patch: PatchFile, state: PatchedTree) -> PatchedTree:
    made = apply_as_git_does(patch, state)
    return replace(
        state,
        changed={**state.changed, **made.changed},
        executable=(state.executable - made.changed.keys()) | made.executable,
    )


def _unshipped(patches: Iterable[PatchFile], pin: Pin) -> Iterator[Problem]:
    for patch in patches:
        if outside := [path for path in patch.paths if not pin.place(path)]:
            what = f"changes what is not shipped ({', '.join(pin.packages)} are): {listing(outside)}"
            fix = "ship its folder with --package, which names all that are shipped, or take it out of the patch"
            yield Problem(where=patch.source.file, what=what, fix=fix)


def given_by_git(patches: Iterable[PatchFile], tree: SourceTree) -> Mapping[str, tuple[bytes, bool]]:
    """Return every file, with whether it is executable, of a work tree to which git alone applied the patches.

    Raises:
        MergeError: it does not apply one of them.
    """
    with tempfile.TemporaryDirectory(prefix="npu-overlays-reference-") as place:
        root = Path(place)
        tree.unpack(root)
        for patch in patches:
            try:
                git.apply(patch.source.content, root, f"-p{patch.strip}")
            except ProcessError as error:
                what, fix = f"git does not apply it: {error.output}", "make it anew on the commit"
                raise MergeError(Problem(where=patch.source.file, what=what, fix=fix)) from error
        files = [path for path in root.rglob("*") if path.is_file()]
        return {
            path.relative_to(root).as_posix(): (path.read_bytes(), bool(path.stat().st_mode & 0o100)) for path in files
        }


def check_same(tree: PatchedTree, reference: Mapping[str, tuple[bytes, bool]], where: str) -> None:
    """Refuse a tree that is not what git made; raises `MergeError` with each file."""
    ours = {path: (tree.after(path), tree.is_executable(path)) for path in tree.paths()}
    wrong = [path for path in sorted({*ours, *reference}) if ours.get(path) != reference.get(path)]
    if wrong:
        what = f"is otherwise than git makes it, in its content or its mode: {listing(wrong)}"
        raise MergeError(
            Problem(where=where, what=what, fix="make the patch of these files anew: git diff --no-renames")
        )
