"""Surroundings: text and what a substitution finds in it → what that depends on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from npu_overlays.merging.settings_text import ENDINGS, keyed_lines

_DIGEST = 16
_LINES = 2


def surroundings(path: str, content: bytes, find: str) -> dict[str, str]:
    """Return what a substitution depends on, by the name of the contract's field; nothing where it finds nothing.

    In YAML those are the keys each occurrence stands under, an item of a list by its first line, elsewhere the lines
    nearest to it; and in both the rest of the lines it stands in.
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
    """Yield where a find stands, the white space at its ends left out."""
    for match in re.finditer(re.escape(find), text) if find.strip() else ():
        start = match.start() + len(find) - len(find.lstrip())
        yield start, match.end() - len(find) + len(find.rstrip())


def _under(text: str, start: int, end: int) -> str:
    """Return the keys an occurrence stands under, and where it is a part of its lines, what those say."""
    begins, ends = text.count("\n", 0, start), text.count("\n", 0, end)
    lines = [one for one in keyed_lines(text) if one.number <= ends]
    inside = [one for one in lines if one.number >= begins]
    keys = ".".join(one.under) if (one := next(iter(inside or lines[-1:]), None)) else ""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    behind = text[end : None if last < 0 else last].partition(" #")[0]
    said = f"{text[first:end]}{behind}".strip()
    return keys if said == text[start:end] else f"{keys} {said}"


def _near(text: str, start: int, end: int) -> Iterator[str]:
    """Yield the lines an occurrence stands in, and those nearest to them that are not empty."""
    first = text.rfind("\n", 0, start) + 1
    behind = text.find("\n", end) + 1 or len(text) + 1
    above = [line.strip() for line in text[:first].split("\n") if line.strip()]
    below = [line.strip() for line in text[behind:].split("\n") if line.strip()]
    yield from (*above[-_LINES:], " ".join(text[first : behind - 1].split()), *below[:_LINES])
