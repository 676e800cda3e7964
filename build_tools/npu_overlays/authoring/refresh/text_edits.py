"""Text edits: a text file, its substitutions and the wanted text → the substitutions that give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from npu_overlays.authoring.refresh.replaced_ranges import ReplacedRange, replaced_ranges
from npu_overlays.authoring.refresh.undone_edits import UndoneEdits, made, undone
from npu_overlays.merge.settings_text import ENDINGS, repeated_keys
from npu_overlays.overlay.layer_content import SourcedEdit
from npu_overlays.overlay.project import TextEdit

# More than this is a patch.
_MOST_PLACES = 3
_MOST_LINES = 12


@dataclass(frozen=True, kw_only=True)
class EditedText:
    """A file that is not Python."""

    path: str
    before: bytes | None  # its bytes before any substitution; None where there is no such file
    # The substitutions, in the order in which they are made, and what they give.
    edits: tuple[SourcedEdit, ...]
    now: bytes | None
    wanted: bytes | None  # what is wanted; None where the file should go
    patched: bool  # whether a patch changes it already


@dataclass(frozen=True, kw_only=True)
class DerivedText:
    """What gives a wanted file."""

    # The substitutions that change, with what they should put in; None for those that go.
    changed: tuple[tuple[SourcedEdit, str | None], ...] = ()
    new: tuple[tuple[str, str], ...] = ()  # new ones, behind all others: what each finds, and what it puts in
    # What a patch has to make of upstream's file first; empty where it needs no patch.
    below: tuple[bytes | None, ...] = ()


def substituted(text: EditedText) -> DerivedText | None:
    """Return what gives a file, or None where nothing does."""
    if text.wanted is None or text.before is None or text.now is None:
        return DerivedText(changed=tuple((one, None) for one in text.edits), below=(text.wanted,))
    found = undone(text.before, [one.edit for one in text.edits], text.wanted)
    if found and (known := _known(text, text.before, text.wanted, found)):
        return known
    new = _new(text.path, text.now, text.wanted)
    return DerivedText(new=new) if new else None


def _known(text: EditedText, before: bytes, wanted: bytes, found: UndoneEdits) -> DerivedText | None:
    """Return what gives a file if each substitution puts in what was found for it, in the text that was found."""
    changed: list[tuple[SourcedEdit, str | None]] = []
    kept: list[TextEdit] = []
    for one, put_in in zip(text.edits, found.put_in, strict=True):
        is_idle = one.edit.find == put_in
        if put_in != one.edit.replace:
            changed.append((one, None if is_idle else put_in))
        if not is_idle:
            kept.append(replace(one.edit, replace=put_in))
    now = made(kept, before)
    if now == wanted:
        return DerivedText(changed=tuple(changed))
    # A file that only a patch changes goes on to be changed by that.
    is_patched_alone = text.patched and not text.edits
    new = _new(text.path, now, wanted) if now is not None and not is_patched_alone else ()
    if new:
        return DerivedText(changed=tuple(changed), new=new)
    gives_it = made(kept, found.below) == wanted
    return DerivedText(changed=tuple(changed), below=(found.below,)) if gives_it else None


def _new(path: str, now: bytes, wanted: bytes) -> tuple[tuple[str, str], ...]:
    """Return a few substitutions of whole lines; none where there would be many, or an overlay cannot hold them."""
    try:
        old, new = now.decode().splitlines(keepends=True), wanted.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return ()
    changed = list(replaced_ranges(old, new))
    if len(changed) > _MOST_PLACES:
        return ()
    found: list[tuple[str, str]] = []
    for hunk in changed:
        pair = _unique(now.decode(), old, new, hunk)
        if pair is None or not all(map(_is_printable, pair)):
            return ()
        found.append(pair)
    edits = [TextEdit(paths=(), find=find, replace=text, count=1, why="") for find, text in found]
    return tuple(found) if made(edits, now) == wanted and not _repeats_keys(path, edits, now) else ()


def _is_printable(text: str) -> bool:
    return text.replace("\n", "").replace("\t", "").isprintable()


def _repeats_keys(path: str, edits: Sequence[TextEdit], now: bytes) -> bool:
    """Return whether one of the substitutions gives a YAML file a key twice, which none may do."""
    if not path.endswith(ENDINGS):
        return False
    before = now.decode()
    for number in range(len(edits)):
        after = (made(edits[: number + 1], now) or b"").decode()
        if repeated_keys(before, after):
            return True
        before = after
    return False


def _unique(text: str, old: Sequence[str], new: Sequence[str], hunk: ReplacedRange) -> tuple[str, str] | None:
    """Return the text of some lines and what replaces it, with as many lines around it as make it occur once."""
    first, behind, start, end = hunk
    while behind - first <= _MOST_LINES:
        find = "".join(old[first:behind])
        if find.strip() and text.count(find) == 1:
            return find, "".join(new[start:end])
        if first > 0 and start > 0 and old[first - 1] == new[start - 1]:
            first, start = first - 1, start - 1
        elif behind < len(old) and end < len(new) and old[behind] == new[end]:
            behind, end = behind + 1, end + 1
        else:
            return None
    return None
