"""Patch application: applied by ``git apply`` without fuzz, before anything is merged."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from npu_overlays import git
from npu_overlays.errors import MergeError, Problem
from npu_overlays.overlay.patches import PatchFile, line_of
from npu_overlays.overlay.sections import Hunk, diff_of, parts
from npu_overlays.process import ProcessError
from npu_overlays.sources.tree import PatchedTree

_FAILED = re.compile(r"^error: (?:patch failed: )?(?P<path>.+?):(?P<line>\d+)?", re.MULTILINE)
_NEW_MODE = re.compile(rb"new (?:file )?mode 100[0-7]{3}\r?$")
# How many lines on either side of a hunk GNU patch passes over where nobody forbids it.
_FUZZ = 2


@dataclass(frozen=True, kw_only=True)
class AppliedPatch:
    """The result of a patch."""

    changed: Mapping[str, bytes | None]  # the files it changes, with their new content; None where it deletes one
    # The files that become executable, or are so no more, with whether they are executable then
    modes: Mapping[str, bool]


def apply_patch(patch: PatchFile, tree: PatchedTree, *, absent: frozenset[str]) -> AppliedPatch:
    """Apply a patch.

    Args:
        patch: the patch.
        tree: the tree it is applied to.
        absent: paths this source is known to lack; the patch's hunks for them are left out.

    Raises:
        MergeError: a hunk does not fit or fits more than once, or the patch is already upstream or changes nothing.
    """
    MergeError.raise_for(ambiguities(patch, tree))
    return apply_as_git_does(patch, tree, absent=absent)


def apply_as_git_does(patch: PatchFile, tree: PatchedTree, *, absent: frozenset[str] = frozenset()) -> AppliedPatch:
    """Apply a patch, like `apply_patch`, but at git's place if a hunk fits more than once."""
    paths = [path for path in patch.paths if path not in absent]
    before = {path: tree.after(path) for path in paths}
    with tempfile.TemporaryDirectory(prefix="npu-overlays-patch-") as folder:
        root = Path(folder)
        for path, content in before.items():
            if content is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(content)
                (root / path).chmod(0o755 if tree.is_executable(path) else 0o644)
        excluded = [f"--exclude={path}" for path in patch.paths if path in absent]
        _git_apply(patch, root, excluded, tree)
        changed: dict[str, bytes | None] = {}
        modes: dict[str, bool] = {}
        for path in paths:
            file = root / path
            content = file.read_bytes() if file.is_file() else None
            if content != before[path]:
                changed[path] = content
            if content is not None and (executable := bool(file.stat().st_mode & 0o100)) != tree.is_executable(path):
                modes[path] = executable
    MergeError.raise_for(_upstreams_modes(patch, tree, modes))
    if not (changed or modes) and len(absent & set(patch.paths)) < len(patch.paths):
        raise MergeError(Problem(where=patch.source.file, what="changes nothing", fix="delete the patch"))
    return AppliedPatch(changed=changed, modes=modes)


def _upstreams_modes(patch: PatchFile, tree: PatchedTree, modes: Mapping[str, bool]) -> Iterator[Problem]:
    """Yield a problem for each path of upstream's that a patch gives another executable bit than upstream.

    Also where the file is made again, since an earlier patch deletes it. A renamed or copied one has a path of its own.
    """
    above, listed = parts(patch.source.content)
    line = above.count(b"\n") + 1
    for section in listed:
        paths = {path.decode("utf-8", errors="replace") for path in section.paths(patch.strip)}
        if any(path in modes and path in tree.upstream for path in paths):
            stated = next(filter(_NEW_MODE.match, section.lines), section.lines[0])
            where = patch.source.at(line + section.lines.index(stated))
            what = "changes whether a file of upstream's is executable, which no overlay can do"
            is_change = stated.startswith(b"new mode")
            fix = "take the lines with its modes out" if is_change else "make the file with upstream's mode"
            yield Problem(where=where, what=what, fix=fix)
        line += len(section.lines)


def ambiguities(patch: PatchFile, tree: PatchedTree) -> Iterator[Problem]:
    """Yield a problem for each hunk that fits in several places; git would take the nearest by line."""
    for hunk in patch.hunks:
        places = _places(hunk.before, _lines(tree, hunk.path), hunk)
        if len(places) > 1:
            listed = [place + 1 for place in places]
            what = f"the hunk at line {hunk.line} fits in {len(places)} places of {hunk.path}"
            what = f"{what} (lines {', '.join(map(str, listed))})"
            fix = "make the patch with more lines of context, so that it fits in one place only: git diff -U20"
            yield Problem(where=_at(patch, hunk.path, hunk.line), what=what, fix=fix)


def placed_otherwise(patch: PatchFile, tree: PatchedTree, made: AppliedPatch) -> Iterator[Problem]:
    """Yield a problem for each file in which GNU patch, and so quilt, would place hunks differently from git.

    Git places a hunk near its line; GNU patch adds the offset of the hunk before.
    """
    by_path: dict[str, list[Hunk]] = {}
    for hunk in patch.hunks:
        by_path.setdefault(hunk.path, []).append(hunk)
    for path, hunks in by_path.items():
        if made.changed.get(path) and made.changed[path] != _as_gnu_patch_does(hunks, _lines(tree, path)):
            what = f"has hunks that fit in several places of {path}, and GNU patch takes other places than git"
            fix = "make it with more lines of context, so that each fits in one place only: git diff -U20"
            yield Problem(where=_at(patch, path, hunks[0].line), what=what, fix=fix)


def _as_gnu_patch_does(hunks: Sequence[Hunk], lines: Sequence[bytes]) -> bytes:
    done: list[bytes] = []
    position = offset = 0
    for hunk in hunks:
        guess = hunk.line - bool(hunk.before) + offset
        places = [place for place in _places(hunk.before, lines, hunk) if place >= position]
        place = min(places, key=lambda one: (abs(one - guess), one < guess), default=guess)  # is used at once
        done += [*lines[position:place], *hunk.after]
        offset += place - guess
        position = place + len(hunk.before)
    return b"".join([*done, *lines[position:]])


def _lines(tree: PatchedTree, path: str) -> list[bytes]:
    return list(filter(None, re.split(rb"(?<=\n)", tree.after(path) or b"")))


def _places(before: Sequence[bytes], lines: Sequence[bytes], hunk: Hunk) -> list[int]:
    """Return the 0-based lines at which git could apply a hunk with these old lines."""
    wanted = list(before)
    size, last = len(wanted), len(lines) - len(wanted)
    first = 0 if hunk.trailing else last
    if hunk.line <= 1:
        last = min(last, 0)
    return [place for place in range(max(first, 0), last + 1) if lines[place : place + size] == wanted]


def _git_apply(patch: PatchFile, root: Path, excluded: list[str], tree: PatchedTree) -> None:
    content, options = diff_of(patch.source.content), (f"-p{patch.strip}", *excluded)
    try:
        git.apply(content, root, *options)
    except ProcessError as error:
        what, fix = f"does not apply: {error.output}", "make it again on the pinned commit (npu-overlays show names it)"
        unfit = list(filter(None, (_unfit(hunk, _lines(tree, hunk.path)) for hunk in patch.hunks)))
        if other := _other_line_ends(patch, tree):
            fix = f"{other} has other line ends (CRLF, LF) than the patch: export it again, and let nothing convert it"
        elif _is_done(content, root, options):
            ours = tree.changed.keys() & set(patch.paths)
            what, fix = (
                "is done already, by operations before it" if ours else "is already upstream",
                "delete the patch",
            )
        elif unfit:
            fix = f"{fix}; {'; '.join(unfit)}"
        if patch.source.mail and patch.source.content.startswith(b"commit "):
            fix += "; if `git log -p` listed the newest commit first, make it with `git log -p --reverse`"
        failed = _FAILED.search(error.output)
        where = _at(patch, failed["path"], int(failed["line"] or 0)) if failed else patch.source.file
        raise MergeError(Problem(where=where, what=what, fix=fix)) from error


def _at(patch: PatchFile, path: str, hunk: int) -> str:
    """Return the place in a patch of the hunk for a line of a file."""
    return patch.source.at(line_of(patch.source.content, path, hunk=hunk))


def _is_done(content: bytes, root: Path, options: Sequence[str]) -> bool:
    """Return whether a patch can be reverted."""
    try:
        git.apply(content, root, *options, "--reverse", "--check")
    except ProcessError:
        return False
    return True


def _unfit(hunk: Hunk, lines: Sequence[bytes]) -> str:
    """Return where a hunk that does not fit would fit with fuzz; empty if it fits, or for a file without lines."""
    if not lines or _places(hunk.before, lines, hunk):
        return ""
    named = f"the hunk at line {hunk.line} of {hunk.path}"
    for fuzz in range(1, _FUZZ + 1):
        above, below = min(fuzz, hunk.context[0]), min(fuzz, hunk.context[1])
        inner = hunk.before[above : len(hunk.before) - below]
        places = _places(inner, lines, replace(hunk, line=2, context=(1, 1))) if inner else []
        if places:
            place = min(places, key=lambda one: abs(one - above + 1 - hunk.line)) - above
            found = zip(hunk.before, lines[max(place, 0) :], strict=False) if place >= 0 else ()
            differing = [f"`{_shown(now)}` for `{_shown(wanted)}`" for wanted, now in found if wanted != now]
            there = f", which has {' and '.join(differing)}" if differing else ""
            return f"{named} fits only with fuzz {fuzz}, at line {place + 1}{there}"
    return f"{named} fits nowhere"


def _shown(line: bytes) -> str:
    return line.decode(errors="replace").strip()


def _other_line_ends(patch: PatchFile, tree: PatchedTree) -> str:
    """Return the first file whose line ends differ from the patch's, or an empty text."""
    for hunk in patch.hunks:
        lines, found = b"".join(hunk.before), tree.after(hunk.path) or b""
        bare = lines.replace(b"\r\n", b"\n")
        if lines and lines not in found and bare in found.replace(b"\r\n", b"\n"):
            return hunk.path
    return ""
