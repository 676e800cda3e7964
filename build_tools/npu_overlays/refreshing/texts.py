"""Texts: a file that is not Python, what is substituted in it, and what is wanted → the substitutions that give it."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from npu_overlays.merging.settings_text import ENDINGS, repeated_keys
from npu_overlays.overlay.project import TextEdit
from npu_overlays.overlay.said import SourcedEdit
from npu_overlays.refreshing.threeway import carried

# What is more is a patch.
_MOST_PLACES = 3
_MOST_LINES = 12


@dataclass(frozen=True, kw_only=True)
class Text:
    """A file that is not Python.

    Args:
        path: of it.
        before: its bytes before any substitution; None where there is no such file.
        edits: the substitutions, in the order in which they are made.
        now: what they give.
        wanted: what is wanted; None where it is to go.
        patched: whether a patch changes it already.
    """

    path: str
    before: bytes | None
    edits: tuple[SourcedEdit, ...]
    now: bytes | None
    wanted: bytes | None
    patched: bool


@dataclass(frozen=True, kw_only=True)
class Substituted:
    """What gives a file.

    Args:
        changed: the substitutions that are to be otherwise, with what they are to put in; None for those that go.
        new: further ones, behind all others.
        below: what a patch is to make of upstream's file first, in a tuple; empty where it needs none.
    """

    changed: tuple[tuple[SourcedEdit, str | None], ...] = ()
    new: tuple[tuple[str, str], ...] = ()
    below: tuple[bytes | None, ...] = ()


def substituted(text: Text) -> Substituted | None:
    """Return what gives a file, or None where nothing does."""
    if text.wanted is None or text.before is None or text.now is None:
        return Substituted(changed=tuple((one, None) for one in text.edits), below=(text.wanted,))
    edits = [one.edit for one in text.edits]
    for number, one in enumerate(text.edits):
        if _made([*edits[:number], *edits[number + 1 :]], text.before) == text.wanted:
            return Substituted(changed=((one, None),))
    for number, one in enumerate(text.edits):
        replacement = _replacement(text, edits, number)
        if replacement is not None:
            return Substituted(changed=((one, replacement),))
    new = () if text.patched and not edits else _new(text.path, text.now, text.wanted)
    if new:
        return Substituted(new=new)
    below = carried(text.before, text.now, text.wanted) if edits else text.wanted
    return Substituted(below=(below,)) if below is not None and _made(edits, below) == text.wanted else None


def _made(edits: Iterable[TextEdit], content: bytes) -> bytes | None:
    for one in edits:
        if content.count(one.find.encode()) != one.count:
            return None
        content = content.replace(one.find.encode(), one.replace.encode())
    return content


def _replacement(text: Text, edits: Sequence[TextEdit], number: int) -> str | None:
    """Return what one of the substitutions would have to put in to give what is wanted."""
    one, later = edits[number], edits[number + 1 :]
    earlier, wanted = _made(edits[:number], text.before or b""), text.wanted or b""
    for other in reversed(later):
        put_in = other.replace.encode()
        if not put_in or wanted.count(put_in) != other.count:
            return None
        wanted = wanted.replace(put_in, other.find.encode())
    if earlier is None or one.count != 1:
        return None
    head, _, tail = earlier.partition(one.find.encode())
    if len(wanted) < len(head) + len(tail) or not (wanted.startswith(head) and wanted.endswith(tail)):
        return None
    try:
        middle = wanted[len(head) : len(wanted) - len(tail)].decode()
    except UnicodeDecodeError:
        return None
    tried = [*edits[:number], dataclasses.replace(one, replace=middle), *later]
    return middle if middle != one.find and _made(tried, text.before or b"") == text.wanted else None


def _new(path: str, now: bytes, wanted: bytes) -> tuple[tuple[str, str], ...]:
    """Return a few substitutions of whole lines; none where there are many, or they may not stand in an overlay."""
    try:
        old, new = now.decode().splitlines(keepends=True), wanted.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return ()
    codes = [
        code for code in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if code[0] != "equal"
    ]
    found: list[tuple[str, str]] = []
    for _, first, behind, start, end in codes[: _MOST_PLACES + 1]:
        pair = _unique(now.decode(), old, new, (first, behind, start, end))
        if pair is None:
            return ()
        found.append(pair)
    edits = [TextEdit(paths=(), find=find, replace=text, count=1, why="") for find, text in found]
    plain = all(text.replace("\n", "").replace("\t", "").isprintable() for pair in found for text in pair)
    fit = len(found) <= _MOST_PLACES and _made(edits, now) == wanted and not _repeats_keys(path, edits, now)
    return tuple(found) if plain and fit else ()


def _repeats_keys(path: str, edits: Sequence[TextEdit], now: bytes) -> bool:
    """Return whether one of the substitutions gives a YAML file a key twice, which none may do."""
    states = [now.decode(), *((_made(edits[: number + 1], now) or b"").decode() for number in range(len(edits)))]
    return path.endswith(ENDINGS) and any(repeated_keys(*pair) for pair in pairwise(states))


def _unique(
    text: str, old: Sequence[str], new: Sequence[str], hunk: tuple[int, int, int, int]
) -> tuple[str, str] | None:
    """Return the text of some lines and what takes their place, with lines above until it is there once."""
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
