"""Substitution context: text and a find in it → what the substitution depends on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from npu_overlays.merge.settings_text import ENDINGS, ITEM, SettingsLine, keyed_lines

_DIGEST = 16
_LINES = 2


def substitution_context(path: str, content: bytes, find: str) -> dict[str, str]:
    """Return what a substitution depends on, by the contract's field; nothing if the find does not occur.

    In YAML these are the keys above each occurrence, with items of a list by their first line, and by their number if
    others begin alike; elsewhere the nearest lines. In both, the rest of its own lines counts.
    """
    text = content.decode(errors="replace").replace("\r\n", "\n")
    places = list(_occurrences(text, find.replace("\r\n", "\n")))
    if not places:
        return {}
    if path.endswith(ENDINGS):
        return {"keys": ", ".join(_under(text, start, end) for start, end in places)}
    around = "\0".join("\n".join(_near(text, start, end)) for start, end in places)
    return {"body": content_fingerprint(around.encode())}


def content_fingerprint(content: bytes) -> str:
    """Return the fingerprint of what is not Python."""
    return hashlib.sha256(content).hexdigest()[:_DIGEST]


def _occurrences(text: str, find: str) -> Iterator[tuple[int, int]]:
    """Yield the places of a find, without the white space at its ends."""
    if not find.strip():
        return
    for match in re.finditer(re.escape(find), text):
        start = match.start() + len(find) - len(find.lstrip())
        yield start, match.end() - len(find) + len(find.rstrip())


@lru_cache(maxsize=256)
def _under(text: str, start: int, end: int) -> str:
    """Return the keys above an occurrence, and the rest of its lines."""
    begins, ends = text.count("\n", 0, start), text.count("\n", 0, end)
    known = keyed_lines(text)
    lines = [one for one in known if one.number <= ends]
    inside = [one for one in lines if one.number >= begins]
    keys = ".".join(_names(one, _firsts(text, known))) if (one := next(iter(inside or lines[-1:]), None)) else ""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    behind = text[end : None if last < 0 else last].partition(" #")[0]
    said = f"{text[first:end]}{behind}".strip()
    return keys if said == text[start:end] else f"{keys} {said}"


def _firsts(text: str, known: Iterable[SettingsLine]) -> dict[tuple[str, ...], str]:
    """Return the first line of each key and item, by its place."""
    lines = text.split("\n")
    found: dict[tuple[str, ...], str] = {}
    for one in known:
        for depth in range(1, len(one.place) + 1):
            found.setdefault(one.place[:depth], lines[one.number].partition(" #")[0].strip())
    return found


def _names(line: SettingsLine, firsts: Mapping[tuple[str, ...], str]) -> Iterator[str]:
    """Yield the names of the keys and items above a line."""
    above = len(line.place) - len(line.under)
    for depth, (key, name) in enumerate(zip(line.keys, line.under, strict=True), above + 1):
        place = line.place[:depth]
        beside = (one for one, first in firsts.items() if one[:-1] == place[:-1] and first == firsts[place])
        yield f"{name}{place[-1]}" if key == ITEM and len(list(beside)) > 1 else name


def _near(text: str, start: int, end: int) -> Iterator[str]:
    """Yield the lines of an occurrence, and the nearest non-empty ones."""
    first = text.rfind("\n", 0, start) + 1
    behind = text.find("\n", end) + 1 or len(text) + 1
    above = list(filter(None, map(str.strip, text[:first].split("\n"))))
    below = list(filter(None, map(str.strip, text[behind:].split("\n"))))
    yield from (*above[-_LINES:], " ".join(text[first : behind - 1].split()), *below[:_LINES])
