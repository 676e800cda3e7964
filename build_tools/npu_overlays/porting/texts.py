"""Texts: substitutions, patches and added files, and another state of upstream → what became of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from npu_overlays.contracts.surroundings import surroundings
from npu_overlays.errors import OverlayError
from npu_overlays.merging.patches import apply_patch
from npu_overlays.merging.settings_text import ENDINGS, repeated_keys
from npu_overlays.overlay.patches import read_patch
from npu_overlays.overlay.said import OverlayFile, SourcedEdit
from npu_overlays.porting.putting import is_put
from npu_overlays.porting.revision import Revision, tree_of
from npu_overlays.porting.verdict import Verdict
from npu_overlays.tree import PatchedTree

# With more lines above it than that, a text is no longer told apart by what it belongs to.
_LINES = 12


class Texts:
    """Says what became of changes that no symbol names; answers are remembered by blob.

    Args:
        base: upstream where the overlay was locked.
    """

    def __init__(self, base: Revision) -> None:
        self._base = base
        self._said: frozenset[str] = frozenset()
        self._edits: dict[tuple[str, str], list[Verdict]] = {}

    def edits(self, edits: Iterable[SourcedEdit], now: Revision) -> Iterator[tuple[SourcedEdit, Verdict]]:
        """Yield what became of each substitution; those in one file are made one after another."""
        by_path: dict[str, list[SourcedEdit]] = {}
        for edit in edits:
            by_path.setdefault(edit.path, []).append(edit)
        self._said = frozenset(by_path)
        for path, together in by_path.items():
            yield from zip(together, self._in_file(path, together, now), strict=True)

    def _in_file(self, path: str, edits: list[SourcedEdit], now: Revision) -> list[Verdict]:
        if path not in now:
            return [self._without_file(edit, now) for edit in edits]
        key = (path, now.blob(path))
        if key not in self._edits:
            before = self._base.read(path) if path in self._base else b""
            self._edits[key] = list(_substituted(edits, now.read(path), before))
        return self._edits[key]

    def _without_file(self, sourced: SourcedEdit, now: Revision) -> Verdict:
        top = sourced.path.partition("/")[0]
        if top in now.tops or "/" not in sourced.path:
            return Verdict(kind="retired", evidence=f"{sourced.path} is gone")
        evidence, there = f"upstream has no {top}/ any more", now.elsewhere(sourced.path, self._base)
        # Where the overlay says something of that file already, it knows it.
        if there and there not in self._said:
            return Verdict(kind="left", evidence=f"{evidence}, but {there}, which is new, may be where its file went")
        return Verdict(kind="left", proposal="drop", evidence=evidence)


def _substituted(edits: list[SourcedEdit], content: bytes, before: bytes) -> Iterator[Verdict]:
    for sourced in edits:
        edit = sourced.edit
        find, replace = edit.find.encode(), edit.replace.encode()
        count, made = content.count(find), before.replace(find, replace)
        if count == edit.count:
            put = content.replace(find, replace)
            if twice := _repeated(sourced.path, content, put):
                yield _taken(twice, is_same=is_put(sourced.path, before, made, content))
                continue
            yield _fitting(sourced.path, edit.find, before, content)
            # The next one is looked for in what this one leaves, there as here.
            content, before = put, made
        elif count == 0 and replace.strip() and is_put(sourced.path, before, made, content):
            evidence = "what it looks for is gone, and what it puts there stands in its place"
            yield Verdict(kind="absorbed", proposal="drop", evidence=evidence)
            before = made
        elif count > edit.count:
            yield _ambiguous(edit.count, count, _lead(find, before, content) if edit.count == 1 else b"")
        else:
            yield Verdict(kind="find gone", evidence=f"what it looks for occurs {count} times, expected {edit.count}")


def _fitting(path: str, find: str, before: bytes, now: bytes) -> Verdict:
    """Return that a substitution fits, and whether what it looks for belongs to something else than it did."""
    old, new = (surroundings(path, content, find) for content in (before, now))
    if not old or old == new:
        return Verdict(kind="fits", applies=True)
    evidence = "the lines around what it looks for changed"
    if "keys" in new:
        evidence = f"what it looks for stands under `{new['keys']}`, and stood under `{old['keys']}`"
    return Verdict(kind="body changed", applies=True, evidence=evidence)


def _repeated(path: str, before: bytes, after: bytes) -> list[str]:
    """Return the keys that a substitution would repeat in YAML: of two, the last one counts, or none can be read."""
    texts = (one.decode(errors="replace") for one in (before, after))
    return repeated_keys(*texts) if path.endswith(ENDINGS) else []


def _taken(twice: list[str], *, is_same: bool) -> Verdict:
    """Return that upstream has keys that an edit adds: all that it adds, or something else."""
    named = ", ".join(f"`{key}`" for key in twice)
    if is_same:
        return Verdict(kind="absorbed", proposal="drop", evidence=f"upstream has {named} now, as it adds it")
    return Verdict(kind="taken", evidence=f"upstream has {named} now, and other than it adds it")


def _ambiguous(expected: int, count: int, lead: bytes) -> Verdict:
    evidence = f"what it looks for occurs {count} times, expected {expected}"
    if not lead:
        return Verdict(kind="ambiguous", evidence=evidence)
    lines = lead.count(b"\n")
    evidence += f"; with the {lines} line{'' if lines == 1 else 's'} that stood above it, once"
    return Verdict(kind="ambiguous", proposal="retarget", lead=lead.decode("utf-8", "replace"), evidence=evidence)


def _lead(find: bytes, before: bytes, now: bytes) -> bytes:
    """Return the fewest lines above the text that was meant with which it occurs once now, or nothing."""
    at = before.find(find)
    above = before[:at].splitlines(keepends=True) if at >= 0 else []
    leads = (b"".join(above[-number:]) for number in range(1, min(len(above), _LINES) + 1))
    return next((lead for lead in leads if now.count(lead + find) == 1), b"")


def patches(files: Sequence[OverlayFile], now: Revision) -> Iterator[tuple[OverlayFile, Verdict]]:
    """Yield the verdict on each patch, tried on the tree that those before it leave."""
    read = [read_patch(file) for file in files]
    state = PatchedTree(upstream=tree_of(now, {path for patch in read for path in patch.paths}))
    unfit: dict[str, str] = {}
    for file, patch in zip(files, read, strict=True):
        gone = [path for path in patch.paths if state.after(path) is None]
        try:
            made = apply_patch(patch, state, absent=frozenset())
        except OverlayError as error:
            said = "; ".join(problem.what for problem in error.problems)
            if said == "is already upstream":
                evidence = "taken back, it applies: all of it is upstream"
                yield file, Verdict(kind="absorbed", proposal="drop", evidence=evidence)
                continue
            if before := next((unfit[path] for path in patch.paths if path in unfit), ""):
                said = f"it is made for what {before} leaves, which does not fit: {said}"
            unfit |= dict.fromkeys(patch.paths, file.path)
            yield file, Verdict(kind="retired" if gone else "does not fit", evidence=said)
        else:
            state = state.changed_by(made.changed, made.executable)
            yield file, Verdict(kind="fits", applies=True)


def file_verdict(file: OverlayFile, now: Revision) -> Verdict:
    """Return what became of an added file."""
    if file.path not in now:
        return Verdict(kind="fits", applies=True)
    if now.read(file.path) == file.content:
        return Verdict(kind="absorbed", proposal="drop", evidence="upstream has the same file")
    return Verdict(kind="taken", evidence="upstream has another file of that name")
