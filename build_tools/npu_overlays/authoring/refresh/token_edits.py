"""Token edits: a definition before and after → the token substitutions from one to the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npu_overlays.authoring.refresh.replaced_ranges import ReplacedRange, common, replaced_ranges
from npu_overlays.errors import MergeError
from npu_overlays.model.code_blocks import lines_of
from npu_overlays.model.passages import Passage
from npu_overlays.model.token_layout import TokenLayout, layout_of
from npu_overlays.overlay.operations import Edit

# An edit may exchange this share of a definition's tokens, or this many; what exchanges more is a replacement.
_SHARE = 0.5
_SMALL = 24
_MOST_LINES = 12
# The numbers of tokens that a find has on either side of those that change, in the order in which they are tried.
_BESIDE = (2, 4, 1, 0)


def substitutions(before: str, after: str) -> Iterator[tuple[Edit, ...]]:
    """Yield edits that lead from one text of a definition to the other, the narrowest first; none if they are large.

    Both are whole lines. Whether they do has to be tried: comments that no find holds stay.
    """
    try:
        passage = Passage("", before.encode())
    except MergeError:
        return
    old, new = lines_of(before), lines_of(after)
    changed: list[ReplacedRange] = []
    for hunk in replaced_ranges(old, new):
        if _code(old[hunk.first : hunk.behind]) != _code(new[hunk.start : hunk.end]):
            changed.append(hunk)
    for narrow in (True, False):
        edits = _edits(passage, old, new, changed, narrow=narrow)
        exchanged = sum(len(layout_of(edit.find).tokens) * edit.count for edit in edits)
        if edits and exchanged <= max(_SMALL, _SHARE * len(passage.layout.tokens)):
            yield edits


def _code(lines: Sequence[str]) -> list[str]:
    return layout_of("".join(lines)).texts


def _edits(
    passage: Passage, old: Sequence[str], new: Sequence[str], changed: Sequence[ReplacedRange], *, narrow: bool
) -> tuple[Edit, ...]:
    """Return one edit for each place, or for places with the same edit; empty if one cannot be told from others."""
    found: list[tuple[str, str]] = []
    widened = _apart([_anchored(old, one) for one in changed])
    for hunk in widened:
        pair = (_within_line(passage, old, new, hunk) if narrow else None) or _lines(passage, old, new, hunk, widened)
        if pair is None:
            return ()
        found.append(pair)
    return tuple(Edit(find=find, replace=text, count=found.count((find, text))) for find, text in dict.fromkeys(found))


def _anchored(old: Sequence[str], hunk: ReplacedRange) -> ReplacedRange:
    """Return a hunk with a line beside it where it finds no code: the one below, or else the one above."""
    first, behind, start, end = hunk.first, hunk.behind, hunk.start, hunk.end
    while not _code(old[first:behind]):
        if behind < len(old):
            behind, end = behind + 1, end + 1
        elif first > 0:
            first, start = first - 1, start - 1
        else:
            break
    return ReplacedRange(first, behind, start, end)


def _apart(changed: Sequence[ReplacedRange]) -> list[ReplacedRange]:
    """Return hunks, with those that touch one line joined."""
    joined: list[ReplacedRange] = []
    for one in changed:
        if joined and one.first < joined[-1].behind:
            last = joined.pop()
            one = ReplacedRange(last.first, max(one.behind, last.behind), last.start, max(one.end, last.end))  # noqa: PLW2901  # it grows
        joined.append(one)
    return joined


def _within_line(
    passage: Passage, old: Sequence[str], new: Sequence[str], hunk: ReplacedRange
) -> tuple[str, str] | None:
    """Return a substitution within one line; None if more than a line changes, or the part occurs elsewhere too."""
    if (hunk.behind - hunk.first, hunk.end - hunk.start) != (1, 1):
        return None
    before, after = layout_of(old[hunk.first]), layout_of(new[hunk.start])
    head = common(before.texts, after.texts)
    tail = common(before.texts[head:][::-1], after.texts[head:][::-1])
    for beside in _BESIDE:
        first, last = max(0, head - beside), max(0, tail - beside)
        find, text = (_part(one, first, len(one.tokens) - last) for one in (before, after))
        if find and len(passage.occurrences(layout_of(find))) == _count(old, new, find, text):
            return find, text
    return None


def _part(layout: TokenLayout, first: int, behind: int) -> str:
    if first >= behind:
        return ""
    return layout.source[layout.tokens[first].start : layout.tokens[behind - 1].end]


def _count(old: Sequence[str], new: Sequence[str], find: str, text: str) -> int:
    """Return how often a substitution is meant to be made: as often as the text before has more of the find."""
    if find in text:
        return 1
    return max(1, sum(line.count(find) for line in old) - sum(line.count(find) for line in new))


def _lines(
    passage: Passage, old: Sequence[str], new: Sequence[str], hunk: ReplacedRange, others: Sequence[ReplacedRange]
) -> tuple[str, str] | None:
    """Return a substitution of whole lines, with as many around them as tell the place from all others."""
    first, behind, start, end = hunk.first, hunk.behind, hunk.start, hunk.end
    taken: set[int] = set()
    for other in others:
        if other is not hunk:
            taken.update(range(other.first, other.behind))
    for number in range(_MOST_LINES):
        find, text = "".join(old[first:behind]), "".join(new[start:end])
        if len(passage.occurrences(layout_of(find))) == 1:
            return _block(find), _block(text)
        above, below = first > 0 and first - 1 not in taken, behind < len(old) and behind not in taken
        if above and (number % 2 == 0 or not below):
            first, start = first - 1, start - 1
        elif below:
            behind, end = behind + 1, end + 1
        else:
            return None
    return None


def _block(lines: str) -> str:
    """Return whole lines as an edit has them: a single one without white space around it."""
    text = lines.strip("\n")
    return text.strip() if "\n" not in text else f"\n{text}\n"
