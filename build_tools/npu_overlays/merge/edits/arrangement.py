"""Arrangement: a replacement and the place it goes to → its lines as they are indented there, or why they cannot be."""

from __future__ import annotations

from npu_overlays.model.logical_lines import Layout, layout_of, relative_levels
from npu_overlays.model.passages import Passage
from npu_overlays.model.texts import dedented, lines_of
from npu_overlays.model.tokens import continuation_lines
from npu_overlays.overlay.operations import Edit

_WHOLE = "lengthen the find to whole lines, or write the replacement as one statement"


def _begun(layout: Layout, depth: int) -> list[int]:
    """Return the tokens of a replacement that begin a logical line, where so many brackets are open before it."""
    found = []
    for number, token in enumerate(layout.tokens):
        if not number or (depth <= 0 and layout.breaks[number] is not None):
            found.append(number)
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
    return found


def refusal(passage: Passage, first: int, behind: int, edit: Edit) -> tuple[str, str]:
    """Return why a replacement of several statements cannot stand for a find, and what to do; empty if it can."""
    upstream, new = passage.layout, layout_of(dedented(edit.replace))
    begun = _begun(new, upstream.depths[first])
    if len(begun) > 1 and not (upstream.first(first) and upstream.last(behind - 1)):
        return f"the {len(begun)} lines of `{edit.replace}` would stand for a part of a line", _WHOLE
    levels = [upstream.levels[line] for line in range(upstream.lines[first], upstream.lines[behind - 1] + 1)]
    if new.tokens and min(_relative(passage, first, new, begun)) != min(levels) - levels[0]:
        what = f"`{edit.find}` and `{edit.replace}` do not end in the same block"
        return what, "indent the replacement as upstream's lines are, from its first line on"
    return "", ""


def _relative(passage: Passage, first: int, new: Layout, begun: list[int]) -> list[int]:
    """Return in how many blocks more than its first line each logical line of a replacement is written."""
    margins = new.statement_margins(begun, bracketed=passage.layout.depths[first] > 0) if begun else []
    return relative_levels(margins, passage.layout.step_of(margins))


def arrangement(passage: Passage, first: int, behind: int, text: str) -> str:
    """Return a replacement with every line but the first indented as its place asks for.

    Statements are put into the blocks they stand in relative to the first one; the rest of a statement, and what
    stands in upstream's brackets, keeps its distance to the line above.
    """
    layout = layout_of(text)
    begun = _begun(layout, passage.layout.depths[first])
    levels = dict(zip((_line(layout, token) for token in begun), _relative(passage, first, layout, begun), strict=True))
    upstreams = _margins_of_levels(passage, first, behind)
    known = {min(upstreams): ("", upstreams[min(upstreams)]), 0: ("", upstreams[0])}
    kept = continuation_lines(text)
    parts = []
    level = 0
    for number, line in enumerate(lines_of(text)):
        margin = line[: len(line) - len(line.lstrip(" \t"))]
        if number in levels:
            level = levels[number]
            if level in upstreams:
                known[level] = (margin, upstreams[level])
        own, there = known[max(one for one in known if one <= level)]
        if number == 0:
            parts.append(line.lstrip(" \t"))
        elif number in kept or not line.strip():
            parts.append(line)
        else:
            parts.append(there + (line.removeprefix(own) if margin.startswith(own) else line.lstrip(" \t")))
    return "".join(parts)


def _line(layout: Layout, token: int) -> int:
    """Return the number of the physical line a token stands on."""
    return layout.source.count("\n", 0, layout.tokens[token].start)


def _margins_of_levels(passage: Passage, first: int, behind: int) -> dict[int, str]:
    """Return upstream's white space for each block around a place and in it, counted from the place's own."""
    layout = passage.layout
    line = layout.lines[first]
    base = layout.levels[line]
    found: dict[int, str] = {}
    for number in range(line, -1, -1):
        level = layout.levels[number] - base
        if level <= min(found, default=0):
            found.setdefault(level, layout.margins[number])
    last = layout.lines[behind - 1]
    for number in range(line + 1, min(last + 2, len(layout.margins))):
        found.setdefault(layout.levels[number] - base, layout.margins[number])
    if not layout.first(first):
        # In the middle of a statement, as in upstream's brackets, lines are as far in as the line they begin on.
        lead = passage.surroundings(passage.bytes_at(first, behind)[0], 0)[0]
        found[0] = lead[: len(lead) - len(lead.lstrip(" \t"))]
    return found
