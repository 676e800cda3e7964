"""Patches: applied by ``git apply`` without fuzz, before anything is merged."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from npu_overlays import git
from npu_overlays.errors import MergeError, Problem
from npu_overlays.overlay.patches import PatchFile, line_of
from npu_overlays.overlay.sections import Hunk
from npu_overlays.proc import ProcessError
from npu_overlays.tree import PatchedTree

_FAILED = re.compile(r"^error: (?:patch failed: )?(?P<path>.+?):(?P<line>\d+)?", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Patched:
    """What a patch does.

    Args:
        changed: the files it changes, with their new content; None where it deletes one.
        executable: those of them that it makes executable.
    """

    changed: Mapping[str, bytes | None]
    executable: frozenset[str]


def apply_patch(patch: PatchFile, tree: PatchedTree, *, absent: frozenset[str]) -> Patched:
    """Apply a patch.

    Args:
        patch: the patch.
        tree: the tree it is applied to.
        absent: paths this source is known to lack; the patch's hunks for them are left out.

    Raises:
        MergeError: where a hunk does not fit or fits more than once, the patch is already upstream, or it changes
            nothing.
    """
    if problems := list(ambiguities(patch, tree)):
        raise MergeError(problems)
    return apply_as_git_does(patch, tree, absent=absent)


def apply_as_git_does(patch: PatchFile, tree: PatchedTree, *, absent: frozenset[str] = frozenset()) -> Patched:
    """Apply a patch, like `apply_patch`, but where a hunk fits more than once, take the place that git would take."""
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
        after = {path: (root / path).read_bytes() if (root / path).is_file() else None for path in paths}
        modes = {path: (root / path).stat().st_mode for path, content in after.items() if content is not None}
    changed = {path: content for path, content in after.items() if content != before[path]}
    if not changed and len(absent & set(patch.paths)) < len(patch.paths):
        raise MergeError(Problem(where=patch.source.file, what="changes nothing", fix="delete it"))
    executable = (path for path in changed if modes.get(path, 0) & 0o100 and not tree.is_executable(path))
    return Patched(changed=changed, executable=frozenset(executable))


def ambiguities(patch: PatchFile, tree: PatchedTree) -> Iterator[Problem]:
    """Yield a problem for each hunk that fits in several places."""
    for hunk in patch.hunks:
        yield from _ambiguous(patch, hunk, tree.after(hunk.path))


def _ambiguous(patch: PatchFile, hunk: Hunk, content: bytes | None) -> Iterator[Problem]:
    """Yield a problem where a hunk fits in several places, of which git would take the one nearest by line number."""
    lines = [line for line in re.split(rb"(?<=\n)", content or b"") if line]
    places = _places(hunk, lines)
    if len(places) > 1:
        listed = ", ".join(str(place + 1) for place in places)
        what = f"the hunk at line {hunk.line} fits in {len(places)} places of {hunk.path} (lines {listed})"
        fix = "make the patch with more lines of context, so that it can fit in one only: git diff -U20"
        yield Problem(where=_at(patch, hunk.path, hunk.line), what=what, fix=fix)


def _places(hunk: Hunk, lines: list[bytes]) -> list[int]:
    """Return the 0-based lines at which git could apply a hunk without fuzz."""
    size = len(hunk.before)
    at_start, at_end = hunk.line <= 1, not hunk.trailing
    return [
        place
        for place in range(len(lines) - size + 1)
        if (not at_start or place == 0)
        and (not at_end or place + size == len(lines))
        and lines[place : place + size] == list(hunk.before)
    ]


def _git_apply(patch: PatchFile, root: Path, excluded: list[str], tree: PatchedTree) -> None:
    content, options = patch.source.content, (f"-p{patch.strip}", *excluded)
    try:
        git.apply(content, root, *options)
    except ProcessError as error:
        what, fix = f"does not apply: {error.output}", "refresh it on the pinned commit (npu-overlays show names it)"
        try:
            git.apply(content, root, *options, "--reverse", "--check")
        except ProcessError:
            pass
        else:
            ours = tree.changed.keys() & set(patch.paths)
            what, fix = "is done already, by what comes before it" if ours else "is already upstream", "delete it"
        if other := _other_line_ends(patch, {path: tree.after(path) for path in patch.paths}):
            fix = f"{other} has other line ends (CRLF, LF) than the patch: export it again, and let nothing convert it"
        elif _fits_with_fuzz(content, root, options):
            fix = f"only with fuzz, passing over lines around it, it would fit: see where it belongs, and {fix}"
        failed = _FAILED.search(error.output)
        where = _at(patch, failed["path"], int(failed["line"] or 0)) if failed else patch.source.file
        raise MergeError(Problem(where=where, what=what, fix=fix)) from error


def _at(patch: PatchFile, path: str, hunk: int) -> str:
    """Return where a patch has the hunk made at a line of a file."""
    return f"{patch.source.file}:{line_of(patch.source.content, path, hunk=hunk)}"


def _fits_with_fuzz(content: bytes, root: Path, options: Sequence[str]) -> bool:
    try:
        git.apply(content, root, *options, "-C1", "--check")
    except ProcessError:
        return False
    return True


def _other_line_ends(patch: PatchFile, before: Mapping[str, bytes | None]) -> str:
    """Return the first file of which the patch has the lines with other ends; empty where there is none."""
    for hunk in patch.hunks:
        lines, found = b"".join(hunk.before), before.get(hunk.path) or b""
        bare = lines.replace(b"\r\n", b"\n")
        if lines and lines not in found and bare in found.replace(b"\r\n", b"\n"):
            return hunk.path
    return ""
