"""Text edits: a text file, its substitutions and the wanted text → the substitutions that give it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from npu_overlays.authoring.refresh.plan import EditChange
from npu_overlays.authoring.refresh.replaced_ranges import ReplacedRange, common, replaced_ranges
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

    edits: tuple[EditChange, ...] = ()  # known substitutions that change, and new ones behind all others
    # Upstream's file after a patch that must come first; empty if no patch is needed.
    below: tuple[bytes | None, ...] = ()


def substituted(text: EditedText) -> DerivedText | None:
    """Return what gives a file, or None where nothing does."""
    if text.wanted is None or text.before is None or text.now is None:
        return DerivedText(edits=tuple(_changed_to(one, None) for one in text.edits), below=(text.wanted,))
    found = undone(text.before, [one.edit for one in text.edits], text.wanted)
    if found and (known := _known(text, text.before, text.wanted, *found)):
        return known
    new = _new(text.path, text.now, text.wanted)
    return DerivedText(edits=new) if new else None


def _changed_to(one: SourcedEdit, put_in: str | None) -> EditChange:
    """Return the change of a known substitution, which goes where None is put in."""
    return EditChange(path=one.path, known=one, find=one.edit.find, replace=put_in)


def _known(
    text: EditedText, before: bytes, wanted: bytes, replacements: Sequence[str], below: bytes
) -> DerivedText | None:
    """Return what gives a file if each substitution gets its replacement, in upstream's text or in the one below."""
    changed: list[EditChange] = []
    kept: list[TextEdit] = []
    for one, put_in in zip(text.edits, replacements, strict=True):
        is_idle = one.edit.find == put_in
        if put_in != one.edit.replace:
            changed.append(_changed_to(one, None if is_idle else put_in))
        if not is_idle:
            kept.append(replace(one.edit, replace=put_in))
    now = made(kept, before)
    if now == wanted:
        return DerivedText(edits=tuple(changed))
    # A file that only a patch changes stays with the patch.
    is_patched_alone = text.patched and not text.edits
    new = _new(text.path, now, wanted) if now is not None and not is_patched_alone else ()
    if new:
        return DerivedText(edits=(*changed, *new))
    gives_it = made(kept, below) == wanted
    return DerivedText(edits=tuple(changed), below=(below,)) if gives_it else None


def _new(path: str, now: bytes, wanted: bytes) -> tuple[EditChange, ...]:
    """Return a few substitutions of whole lines; none if there would be many, or an overlay cannot hold them."""
    try:
        old, new = now.decode().splitlines(keepends=True), wanted.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return ()
    changed = list(replaced_ranges(old, new))
    if len(changed) > _MOST_PLACES:
        return ()
    found: list[EditChange] = []
    edits: list[TextEdit] = []
    for hunk in changed:
        pair = _unique(now.decode(), old, new, hunk)
        if pair is None or not re.sub(r"[\n\t]", "", "".join(pair)).isprintable():
            return ()
        found.append(EditChange(path=path, known=None, find=pair[0], replace=pair[1]))
        edits.append(TextEdit(paths=(), find=pair[0], replace=pair[1], count=1, why=""))
    return tuple(found) if made(edits, now) == wanted and not _repeats_keys(path, edits, now) else ()


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


def made(edits: Iterable[TextEdit], content: bytes) -> bytes | None:
    """Return a text after substitutions; None if one does not occur as often as it states."""
    for one in edits:
        if content.count(one.find.encode()) != one.count:
            return None
        content = content.replace(one.find.encode(), one.replace.encode())
    return content


def undone(before: bytes, edits: Sequence[TextEdit], wanted: bytes) -> tuple[list[str], bytes] | None:
    """Return what gives a text, found from the last substitution to the first; whether it does is to be tried.

    Args:
        before: the text in which they are made.
        edits: the substitutions, in the order in which they are made.
        wanted: what is to come out.

    Returns:
        What each of them has to put in, in their order, and the text in which they have to be made. None if a change
        reaches over the border of what one puts in, or they put in what is not alike.
    """
    states = [before]
    for one in edits:
        states.append(states[-1].replace(one.find.encode(), one.replace.encode()))
    put_in: list[str] = []
    for one, (state, now) in zip(reversed(edits), reversed([*pairwise(states)]), strict=True):
        spans = _spans(state, one, now, wanted)
        found = {wanted[start:end] for start, end in spans}
        if len(found) != 1:
            return None
        try:
            put_in.insert(0, found.pop().decode())
        except UnicodeDecodeError:
            return None
        for start, end in reversed(spans):
            wanted = wanted[:start] + one.find.encode() + wanted[end:]
    return put_in, wanted


def _spans(state: bytes, one: TextEdit, now: bytes, wanted: bytes) -> list[tuple[int, int]]:
    """Return where in the wanted text a substitution's replacements are; none if the border of one was edited."""
    parts, length = state.split(one.find.encode()), len(one.replace.encode())
    head, tail = parts[0], parts[-1]
    if one.count == 1 and len(wanted) >= len(head + tail) and wanted.startswith(head) and wanted.endswith(tail):
        return [(len(head), len(wanted) - len(tail))]
    changed = list(_changed(now, wanted))
    found: list[tuple[int, int]] = []
    for border in accumulate(len(part) + length for part in parts[:-1]):
        start, end = _place(changed, border - length, last=False), _place(changed, border, last=True)
        if start is None or end is None:
            return []
        found.append((start, end))
    return found


def _place(changed: Iterable[ReplacedRange], border: int, *, last: bool) -> int | None:
    """Return where a border of a replacement is in the wanted text; None if it is inside a hunk.

    Text that was added right at a border belongs to the replacement.
    """
    shift = 0
    for first, behind, _, end in changed:
        if border < first or (border == first and (first < behind or not last)):
            break
        if border < behind:
            return None
        shift = end - behind
    return border + shift


def _changed(now: bytes, wanted: bytes) -> Iterator[ReplacedRange]:
    """Yield what differs between two texts; where as many lines replace others, each line by itself."""
    old, new = now.splitlines(keepends=True), wanted.splitlines(keepends=True)
    at, to = [0, *accumulate(map(len, old))], [0, *accumulate(map(len, new))]
    for first, behind, start, end in replaced_ranges(old, new):
        if behind - first == end - start:
            for number in range(behind - first):
                line, other = first + number, start + number
                for hunk in replaced_ranges(old[line], new[other]):
                    yield _moved(hunk, at[line], to[other])
        else:
            block = _trimmed(now[at[first] : at[behind]], wanted[to[start] : to[end]])
            yield _moved(block, at[first], to[start])


def _trimmed(old: bytes, new: bytes) -> ReplacedRange:
    head = common(old, new)
    tail = common(old[head:][::-1], new[head:][::-1])
    return ReplacedRange(head, len(old) - tail, head, len(new) - tail)


def _moved(hunk: ReplacedRange, at: int, to: int) -> ReplacedRange:
    return ReplacedRange(hunk.first + at, hunk.behind + at, hunk.start + to, hunk.end + to)
