"""Undone edits: a text that was edited after its substitutions → what each has to put in, and into which text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from npu_overlays.authoring.refresh.replaced_ranges import ReplacedRange, common, replaced_ranges
from npu_overlays.overlay.project import TextEdit


@dataclass(frozen=True, kw_only=True)
class UndoneEdits:
    """What substitutions have to be to give a text."""

    put_in: tuple[str, ...]  # what each of them has to put in, in their order
    below: bytes  # the text in which they have to be made


def made(edits: Iterable[TextEdit], content: bytes) -> bytes | None:
    """Return what substitutions make of a text; None where one does not find its text as often as it should."""
    for one in edits:
        if content.count(one.find.encode()) != one.count:
            return None
        content = content.replace(one.find.encode(), one.replace.encode())
    return content


def undone(before: bytes, edits: Sequence[TextEdit], wanted: bytes) -> UndoneEdits | None:
    """Return what gives a text, found from the last substitution to the first; whether it does is to be tried.

    Args:
        before: the text in which they are made.
        edits: the substitutions, in the order in which they are made.
        wanted: what is to come out.

    Returns:
        It; None where a change reaches over the border of what one puts in, or they put in what is not alike.
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
    return UndoneEdits(put_in=tuple(put_in), below=wanted)


def _spans(state: bytes, one: TextEdit, now: bytes, wanted: bytes) -> list[tuple[int, int]]:
    """Return where in the wanted text a substitution's replacements are; none where the border of one was edited."""
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
    """Return where a border of a replacement is in the wanted text; None where it is inside a hunk.

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
