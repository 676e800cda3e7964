"""Applied patches: patches and upstream → the tree after each of them, checked against what git makes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from npu_overlays import git
from npu_overlays.authoring.import_patches.patch_folder import InputPatch
from npu_overlays.changes.tree_comparison import ChangedFile, compare_file
from npu_overlays.errors import MergeError, Problem, listing
from npu_overlays.merge.patch_application import ambiguities, apply_as_git_does, placed_otherwise
from npu_overlays.overlay.layer_content import OverlayFile
from npu_overlays.overlay.patches import PatchFile, parsed_patch, stated_reason, unread
from npu_overlays.overlay.sections import Section, diff_of, parts
from npu_overlays.process import ProcessError
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.tree import PatchedTree, SourceTree

# The numbers of folders that may stand before paths in a patch, the likeliest first.
_STRIPS = (1, 0, 2, 3)


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A path that a patch changes and no wheel has, with the number of hunks for it."""

    patch: str
    path: str
    hunks: int


@dataclass(frozen=True, kw_only=True)
class PatchStep:
    """One patch of a series, and the trees before and after it."""

    # Without the sections that are left out.
    patch: PatchFile
    before: PatchedTree
    after: PatchedTree
    ambiguous: bool  # whether hunks of it fit in several places
    remade: bool  # whether an overlay cannot hold it as it is, and needs another patch that does the same

    @property
    def file(self) -> OverlayFile:
        """The file of the patch, with the text above the diff."""
        return self.patch.source

    @property
    def paths(self) -> list[str]:
        """The files that it changes."""
        return [path for path in self.patch.paths if self.before.after(path) != self.after.after(path)]

    def changes(self) -> Iterator[ChangedFile]:
        """Yield the changes it makes to each file, by syntax."""
        for path in self.patch.paths:
            if change := compare_file(path, self.before.after(path), self.after.after(path)):
                yield change


@dataclass(frozen=True, kw_only=True)
class AppliedSeries:
    """The patches of a set as they were applied, the paths that were left out, and the names of empty patches."""

    taken: tuple[PatchStep, ...]
    left_out: tuple[LeftOut, ...]
    empty: tuple[str, ...]

    def changes(self) -> dict[str, tuple[ChangedFile, ...]]:
        """Return the changes that each patch makes, by its name."""
        return {one.file.path: tuple(one.changes()) for one in self.taken}


def explained(file: OverlayFile, why: str) -> OverlayFile:
    """Return a patch with a reason: the one it gives already, or else this one."""
    if stated_reason(file.content, file.bounds).why:
        return file
    return replace(file, content=f"Why: {' '.join(why.split())}\n\n".encode() + file.content)


def named_paths(patches: Iterable[InputPatch]) -> tuple[str, ...]:
    """Return the paths that patches name, without a tree to compare them with."""
    found: dict[str, None] = {}
    for one in patches:
        found |= dict.fromkeys(parsed_patch(one.file, one.strip)[0].paths)
    return tuple(found)


def check_readable(patches: Iterable[InputPatch]) -> None:
    """Raise `MergeError` with all mistakes that show in the patches alone."""
    problems: list[Problem] = []
    for one in patches:
        if not _is_empty(one):
            problems += _mistakes(one.file, one.strip)
    MergeError.raise_for(problems)


def take(patches: Sequence[InputPatch], tree: SourceTree, pin: Pin, *, only_shipped: bool) -> AppliedSeries:
    """Apply patches one after the other.

    Args:
        patches: the patches in their order.
        tree: upstream.
        pin: names what is shipped.
        only_shipped: whether to leave out hunks for files that no wheel has, instead of refusing them.

    Raises:
        MergeError: with each patch that cannot be read, does not fit, or changes what is not shipped. A patch of files
            in which an earlier one does not fit is not tried.
    """
    applier = _Applier(patches, tree, pin, only_shipped=only_shipped)
    for one in patches:
        applier.take(one)
    if applier.problems:
        raise MergeError(applier.problems)
    return AppliedSeries(taken=tuple(applier.taken), left_out=tuple(applier.left_out), empty=tuple(applier.empty))


class _Applier:
    """Applies patches one after the other, and collects their mistakes."""

    def __init__(self, patches: Iterable[InputPatch], tree: SourceTree, pin: Pin, *, only_shipped: bool) -> None:
        self._pin = pin
        self._only_shipped = only_shipped
        self._state = PatchedTree(upstream=tree)
        self._unfit: dict[str, str] = {}
        self._sources = frozenset(_sources(patches, pin))
        self.problems: list[Problem] = []
        self.taken: list[PatchStep] = []
        self.left_out: list[LeftOut] = []
        self.empty: list[str] = []

    def take(self, one: InputPatch) -> None:
        """Apply a patch, or note why it cannot be."""
        if _is_empty(one):
            self.empty.append(one.file.file)
            return
        above, listed = parts(one.file.content)
        strip = self._strip(listed, one.strip)
        held = [section for section in listed if self._is_held(section, strip)]
        if len(held) < len(listed):
            self._leave_out(one.file, [section for section in listed if section not in held], strip)
            one = replace(one, file=_with_sections(one.file, above, listed, held))
        if not held and listed:
            return
        patch = parsed_patch(one.file, strip)[0]
        if mistakes := list(_mistakes(one.file, strip)):
            self._note(patch, mistakes)
        else:
            self._apply(patch)

    def _leave_out(self, file: OverlayFile, sections: Iterable[Section], strip: int) -> None:
        """Note the paths of some sections as left out, or as a mistake."""
        left: list[LeftOut] = []
        for section in sections:
            for path in _names(section, strip):
                left.append(LeftOut(patch=Path(file.file).name, path=path, hunks=len(section.hunks)))
        if self._only_shipped:
            self.left_out += left
            return
        what = f"changes files that are not shipped (only {', '.join(self._pin.packages)} are): "
        what += listing(dict.fromkeys(one.path for one in left))
        fix = "leave it out with --only-shipped, or ship its folder with --package, which names every shipped folder"
        self.problems.append(Problem(where=file.file, what=what, fix=fix))

    def _apply(self, patch: PatchFile) -> None:
        if earlier := next(filter(None, map(self._unfit.get, patch.paths)), ""):
            what = f"was not tried: it changes the same file as {Path(earlier).name}, which does not fit"
            self.problems.append(Problem(where=patch.source.file, what=what, fix=f"correct {Path(earlier).name} first"))
            return
        try:
            made = apply_as_git_does(patch, self._state)
            ambiguous = any(ambiguities(patch, self._state))
            problems = list(placed_otherwise(patch, self._state, made)) if ambiguous else []
        except MergeError as error:
            problems = list(error.problems)
        if problems:
            self._note(patch, problems)
            return
        after = self._state.changed_by(made.changed, made.modes)
        shipped = all(map(self._pin.place, made.changed))
        remade = ambiguous or not shipped or not _is_git_patch(patch)
        self.taken.append(PatchStep(patch=patch, before=self._state, after=after, ambiguous=ambiguous, remade=remade))
        self._state = after

    def _note(self, patch: PatchFile, problems: Iterable[Problem]) -> None:
        self.problems += problems
        self._unfit |= dict.fromkeys(patch.paths, patch.source.file)

    def _strip(self, listed: Sequence[Section], stated: int | None) -> int:
        """Return how many folders stand before paths: as stated or shown, unless only another number gives files."""
        shown = {section.strip() for section in listed}
        first = stated
        if first is None and len(shown) == 1:
            (first,) = shown
        candidates = _STRIPS if first is None else (first, *_STRIPS)
        for strip in candidates:
            for section in listed:
                if any(map(self._exists, _names(section, strip))):
                    return strip
        return candidates[0]

    def _exists(self, path: str) -> bool:
        return self._state.after(path) is not None

    def _is_held(self, section: Section, strip: int) -> bool:
        """Return whether a wheel has a file that a section changes, or another patch needs it."""
        held = [path for path in _names(section, strip) if self._pin.place(path) or path in self._sources]
        # A release that is pinned by its wheel has no other files.
        is_wheel = not self._pin.commit and self._pin.archives[0].file.endswith(".whl")
        return bool(held) and (not is_wheel or section.makes_file or any(map(self._exists, held)))


def _with_sections(file: OverlayFile, above: bytes, listed: Sequence[Section], held: Sequence[Section]) -> OverlayFile:
    """Return a patch with some of its sections only; its lines keep their numbers in the file."""
    line = above.count(b"\n") + 1
    lines = [*range(1, line)]
    for section in listed:
        if section in held:
            lines += range(line, line + len(section.lines))
        line += len(section.lines)
    content = above + b"".join(section.text for section in held)
    return replace(file, content=content, lines=tuple(map(file.line, lines)))


def _names(section: Section, strip: int) -> list[str]:
    found = (name.decode("utf-8", errors="replace") for name in section.paths(strip) if name)
    return list(dict.fromkeys(found))


def _sources(patches: Iterable[InputPatch], pin: Pin) -> Iterator[str]:
    """Yield the paths of files that a patch renames or copies where one of the two names is shipped."""
    for one in patches:
        for section in parts(one.file.content)[1]:
            names = _names(section, section.strip() or 0)
            if section.moved and any(map(pin.place, names)):
                yield from names


def _is_empty(one: InputPatch) -> bool:
    """Return whether a patch is an empty file in a series, which quilt skips."""
    return one.listed and not one.file.content.strip()


def _is_git_patch(patch: PatchFile) -> bool:
    """Return whether a patch has git's form, which an overlay can hold as it is."""
    listed = parts(patch.source.content)[1]
    return all(section.header for section in listed) and patch.strip == parsed_patch(patch.source)[0].strip


def _mistakes(file: OverlayFile, strip: int | None) -> Iterator[Problem]:
    """Yield the mistakes that show in a patch alone."""
    if not parts(file.content)[1]:
        what, fix = unread(file.content, "diff")
        yield Problem(where=file.file, what=what, fix=fix)
        return
    for mistake in parsed_patch(file, strip)[1]:
        yield mistake.problem(file)


def given_by_git(taken: Iterable[PatchStep], tree: SourceTree) -> Mapping[str, tuple[bytes, bool]]:
    """Return every file, with whether it is executable, of a work tree to which git alone applied the patches.

    Raises:
        MergeError: it does not apply one of them.
    """
    with tempfile.TemporaryDirectory(prefix="npu-overlays-reference-") as place:
        root = Path(place)
        tree.unpack(root)
        for one in taken:
            try:
                git.apply(diff_of(one.file.content), root, f"-p{one.patch.strip}")
            except ProcessError as error:
                what, fix = f"git does not apply it: {error.output}", "make it again on the pinned commit"
                raise MergeError(Problem(where=one.file.file, what=what, fix=fix)) from error
        found: dict[str, tuple[bytes, bool]] = {}
        for path in root.rglob("*"):
            if path.is_file():
                is_executable = bool(path.stat().st_mode & 0o100)
                found[path.relative_to(root).as_posix()] = (path.read_bytes(), is_executable)
        return found


def check_same(tree: PatchedTree, reference: Mapping[str, tuple[bytes, bool]], where: str) -> None:
    """Refuse a tree that is not what git made; raises `MergeError` with each file."""
    ours = {path: (tree.after(path), tree.is_executable(path)) for path in tree.paths()}
    if wrong := [path for path in sorted({*ours, *reference}) if ours.get(path) != reference.get(path)]:
        what = f"differs from the file that git makes, in its content or its mode: {listing(wrong)}"
        raise MergeError(
            Problem(where=where, what=what, fix="make the patch of these files again: git diff --no-renames")
        )
