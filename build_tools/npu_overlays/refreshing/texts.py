"""Texts: a file that is not Python, what is substituted in it, and what is wanted → the substitutions that give it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from npu_overlays.merging.settings_text import ENDINGS, repeated_keys
from npu_overlays.overlay.layer_content import SourcedEdit
from npu_overlays.overlay.project import TextEdit
from npu_overlays.refreshing.undoing import Undone, made, undone

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
    found = undone(text.before, [one.edit for one in text.edits], text.wanted)
    if found and (known := _known(text, text.before, text.wanted, found)):
        return known
    new = _new(text.path, text.now, text.wanted)
    return Substituted(new=new) if new else None


def _known(text: Text, before: bytes, wanted: bytes, found: Undone) -> Substituted | None:
    """Return what gives a file where it is known what each substitution is to put in, and in which text."""
    edits = [replace(one.edit, replace=put_in) for one, put_in in zip(text.edits, found.put_in, strict=True)]
    pairs = zip(text.edits, edits, strict=True)
    changed = tuple((one, None if _is_idle(new) else new.replace) for one, new in pairs if new != one.edit)
    kept = [one for one in edits if not _is_idle(one)]
    now = made(kept, before)
    if now == wanted:
        return Substituted(changed=changed)
    new = () if now is None or (text.patched and not text.edits) else _new(text.path, now, wanted)
    if new:
        return Substituted(changed=changed, new=new)
    return Substituted(changed=changed, below=(found.below,)) if made(kept, found.below) == wanted else None


def _is_idle(one: TextEdit) -> bool:
    return one.find == one.replace


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
    fit = len(found) <= _MOST_PLACES and made(edits, now) == wanted and not _repeats_keys(path, edits, now)
    return tuple(found) if plain and fit else ()


def _repeats_keys(path: str, edits: Sequence[TextEdit], now: bytes) -> bool:
    """Return whether one of the substitutions gives a YAML file a key twice, which none may do."""
    states = [now.decode(), *((made(edits[: number + 1], now) or b"").decode() for number in range(len(edits)))]
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
