"""Text verdicts: substitutions, patches and added files, and another state of upstream → the verdict on each."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence

from npu_overlays.authoring.port.absorption import is_substituted
from npu_overlays.authoring.port.verdicts import Verdict, absent, left, retired
from npu_overlays.authoring.snapshots import Snapshot, tree_of
from npu_overlays.contracts.substitution_context import substitution_context
from npu_overlays.errors import OverlayError
from npu_overlays.merge.patch_application import apply_patch
from npu_overlays.merge.settings_text import ENDINGS, SettingsLine, keyed_lines, repeated_keys
from npu_overlays.overlay.layer_content import OverlayFile, SourcedEdit
from npu_overlays.overlay.patches import read_patch
from npu_overlays.sources.tree import PatchedTree
from npu_summary.plurals import plural

# The most lines above a find that can make it unique.
_LONGEST_LEAD = 12


class SubstitutionVerdicts:
    """Judges substitutions; verdicts are cached by blob.

    Args:
        base: upstream where the overlay was locked.
    """

    def __init__(self, base: Snapshot) -> None:
        self._base = base
        self._known: dict[tuple[str, str], list[Verdict]] = {}

    def verdicts(self, edits: Iterable[SourcedEdit], now: Snapshot) -> Iterator[tuple[SourcedEdit, Verdict]]:
        """Yield the verdict on each substitution; those in one file are applied one after another."""
        by_path: dict[str, list[SourcedEdit]] = {}
        for edit in edits:
            by_path.setdefault(edit.path, []).append(edit)
        for path, together in by_path.items():
            if path not in now:
                gone = self._without_file(path, by_path.keys(), now)
                yield from ((edit, gone) for edit in together)
                continue
            key = (path, now.blob(path))
            if key not in self._known:
                before = self._base.read(path) if path in self._base else b""
                self._known[key] = list(_verdicts(together, now.read(path), before))
            yield from zip(together, self._known[key], strict=True)

    def _without_file(self, path: str, edited: Iterable[str], now: Snapshot) -> Verdict:
        top, slash, _ = path.partition("/")
        is_here = top in now.top_folders or not slash
        if is_here and path not in self._base:
            return absent(path, self._base, now)
        if is_here:
            leaf = path.rpartition("/")[2]
            others: list[str] = []
            for one, blob in now.entries.items():
                is_it = one.endswith(f"/{leaf}") or blob == self._base.blob(path)
                if is_it and one not in self._base:
                    others.append(one)
            return retired(f"{path} is gone", others, is_likely=bool(others))
        evidence, there = now.lacking(top), now.relocated_file(path, self._base)
        # A file that the overlay changes already is not new to it.
        if there and there not in edited:
            return left(evidence, there)
        return Verdict(kind="left", proposal="drop", evidence=evidence)


def _verdicts(edits: list[SourcedEdit], now: bytes, before: bytes) -> Iterator[Verdict]:
    """Yield the verdict on each substitution of a file, applied to the result of those before it."""
    for sourced in edits:
        edit, path = sourced.edit, sourced.path
        find, replace = edit.find.encode(), edit.replace.encode()
        count, made = now.count(find), before.replace(find, replace)
        if count == edit.count:
            after = now.replace(find, replace)
            if repeated := _repeated_keys(path, now, after):
                yield _taken(repeated, is_same=is_substituted(path, before, made, now))
                continue
            yield _fitting(path, edit.find, before, now)
            now, before = after, made
        elif count == 0 and replace.strip() and is_substituted(path, before, made, now):
            evidence = "what it looks for is gone, and what it puts there stands in its place"
            yield Verdict(kind="absorbed", proposal="drop", evidence=evidence)
            before = made
        elif count > edit.count:
            yield _ambiguous(edit.count, count, _lead(path, find, before, now) if edit.count == 1 else b"")
        else:
            times = f"occurs {plural(count, 'time')}, expected {edit.count}" if count else "occurs nowhere"
            yield Verdict(kind="find gone", evidence=f"what it looks for {times}")


def _repeated_keys(path: str, before: bytes, after: bytes) -> list[str]:
    """Return the keys that a substitution repeats in a YAML file, which such a file must not have."""
    if not path.endswith(ENDINGS):
        return []
    return repeated_keys(before.decode(errors="replace"), after.decode(errors="replace"))


def _taken(repeated: list[str], *, is_same: bool) -> Verdict:
    """Return the verdict on a substitution that adds keys which upstream has now, with equal or other values."""
    named = ", ".join(f"`{key}`" for key in repeated)
    if is_same:
        return Verdict(kind="absorbed", proposal="drop", evidence=f"upstream has {named} now, as it adds it")
    return Verdict(kind="taken", evidence=f"upstream has {named} now, and other than it adds it")


def _fitting(path: str, find: str, before: bytes, now: bytes) -> Verdict:
    """Return that a substitution fits, and whether the context of its find changed."""
    old, new = substitution_context(path, before, find), substitution_context(path, now, find)
    if not old or old == new:
        return Verdict(kind="fits", applies=True)
    places = zip(_lines_found(before, find), _lines_found(now, find), strict=False)
    if path.endswith(ENDINGS) and not all(_is_same_setting(before, one, now, other) for one, other in places):
        evidence = f"what it looks for stands under `{new['keys']}`, and stood under `{old['keys']}`"
        return Verdict(kind="find gone", evidence=evidence)
    return Verdict(kind="body changed", applies=True, evidence="the lines around what it looks for changed")


def _ambiguous(expected: int, count: int, lead: bytes) -> Verdict:
    evidence = f"what it looks for occurs {count} times, expected {expected}"
    if not lead:
        return Verdict(kind="ambiguous", evidence=evidence)
    lines = lead.count(b"\n")
    evidence += f"; with the {lines} line{'' if lines == 1 else 's'} that stood above it, once"
    return Verdict(kind="ambiguous", proposal="retarget", lead=lead.decode("utf-8", "replace"), evidence=evidence)


def _lead(path: str, find: bytes, before: bytes, now: bytes) -> bytes:
    """Return the fewest lines above a find with which it occurs once now, in its old place.

    It is empty if no number of them is enough, or if that is another place: upstream may have copied the lines.
    """
    above = before.partition(find)[0].splitlines(keepends=True) if find in before else []
    for number in range(1, min(len(above), _LONGEST_LEAD) + 1):
        lead = b"".join(above[-number:])
        if now.count(lead + find) == 1:
            there = now.partition(lead + find)[0].count(b"\n") + number
            is_same = not path.endswith(ENDINGS) or _is_same_setting(before, len(above), now, there)
            return lead if is_same and _is_unchanged(before, len(above), now, there) else b""
    return b""


def _is_unchanged(before: bytes, line: int, now: bytes, there: int) -> bool:
    """Return whether a diff of a file leaves a line unchanged, with another number."""
    old, new = before.split(b"\n"), now.split(b"\n")
    for block in difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        if block.a <= line < block.a + block.size:
            return block.b + line - block.a == there
    return False


def _lines_found(content: bytes, find: str) -> list[int]:
    """Return the numbers of the lines in which a find begins, without the white space before it."""
    margin = find[: len(find) - len(find.lstrip())]
    pattern = re.escape(margin.encode()) + b"(?=" + re.escape(find.lstrip().encode()) + b")"
    return [content.count(b"\n", 0, found.end()) for found in re.finditer(pattern, content)]


def _is_same_setting(before: bytes, line: int, now: bytes, there: int) -> bool:
    """Return whether a line of a YAML file is of the same setting now; an item of a list may have another number."""
    old, new = _setting(before, line), _setting(now, there)
    if old is None or new is None or old.under != new.under:
        return old is new
    return old.place == new.place or _is_unchanged(before, line, now, there)


def _setting(content: bytes, line: int) -> SettingsLine | None:
    """Return the setting of a line of a YAML file; None for a comment."""
    found = keyed_lines(content.decode(errors="replace"))
    return next((one for one in found if one.number == line), None)


def patch_verdicts(files: Sequence[OverlayFile], now: Snapshot) -> Iterator[tuple[OverlayFile, Verdict]]:
    """Yield the verdict on each patch, tried on the result of those before it."""
    patches = list(map(read_patch, files))
    paths: set[str] = set()
    for patch in patches:
        paths.update(patch.paths)
    state = PatchedTree(upstream=tree_of(now, paths))
    failed: dict[str, str] = {}
    for file, patch in zip(files, patches, strict=True):
        try:
            made = apply_patch(patch, state, absent=frozenset())
        except OverlayError as error:
            evidence = "; ".join(problem.what for problem in error.problems)
            if evidence == "is already upstream":
                evidence = "taken back, it applies: all of it is upstream"
                yield file, Verdict(kind="absorbed", proposal="drop", evidence=evidence)
                continue
            if earlier := list(filter(None, map(failed.get, patch.paths))):
                evidence = f"it is made for what {earlier[0]} leaves, which does not fit: {evidence}"
            failed |= dict.fromkeys(patch.paths, file.path)
            is_gone = any(state.after(path) is None for path in patch.paths)
            yield file, Verdict(kind="retired" if is_gone else "does not fit", evidence=evidence)
        else:
            state = state.changed_by(made.changed, made.modes)
            yield file, Verdict(kind="fits", applies=True)


def file_verdict(file: OverlayFile, now: Snapshot) -> Verdict:
    """Return the verdict on an added file."""
    if file.path not in now:
        return Verdict(kind="fits", applies=True)
    if now.read(file.path) == file.content:
        return Verdict(kind="absorbed", proposal="drop", evidence="upstream has the same file")
    return Verdict(kind="taken", evidence="upstream has another file of that name")
