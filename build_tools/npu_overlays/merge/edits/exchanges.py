"""Exchanges: places of finds in a definition → the bytes to exchange, with the new text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from npu_overlays.model.code_blocks import dedented, lines_of
from npu_overlays.model.passages import Passage
from npu_overlays.model.token_layout import TokenLayout, layout_of, relative_levels
from npu_overlays.model.tokens import continuation_lines, tokens
from npu_overlays.overlay.operations import Edit

_WHOLE = "lengthen the find to whole lines, or write the replacement as one statement"


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One place of a find, and its new text."""

    edit: Edit  # the substitution
    first: int  # the first token of the definition that goes
    behind: int  # the token behind the last one that goes
    start: int  # the first byte that goes
    end: int  # the byte behind the last one
    text: str  # what stands there instead
    refused: str = ""  # why it cannot be put there; empty if it can
    fix: str = ""  # what to do about that

    @property
    def empties(self) -> bool:
        """Whether the new text is only white space and comments."""
        return not layout_of(self.edit.replace).tokens


def exchanges(passage: Passage, places: list[tuple[Edit, int, int]]) -> list[Exchange]:
    """Return the exchange for each (substitution, first token, token after the last)."""
    made = [_exchange(passage, edit, first, behind) for edit, first, behind in places]
    return list(_with_pass(passage, list(_without_semicolons(passage, made))))


def _exchange(passage: Passage, edit: Edit, first: int, behind: int) -> Exchange:
    start, end = passage.bytes_at(first, behind)
    plain = Exchange(edit=edit, first=first, behind=behind, start=start, end=end, text="")
    if not edit.replace.strip():
        return _removal(passage, plain)
    text = dedented(edit.replace)
    refused, fix = _refusal(passage, first, behind, edit)
    if not refused and _swallows(passage, end, text):
        refused, fix = f"the comment that ends `{edit.replace}` would swallow code", "put it on a line of its own"
    # What begins in the midst of a statement and ends behind it has no arrangement.
    made = text if refused else _arranged(passage, first, behind, text)
    return replace(plain, text=made, refused=refused, fix=fix)


def _removal(passage: Passage, plain: Exchange) -> Exchange:
    """Remove whole lines if nothing would be left on them, else the tokens and the white space after them."""
    lead, rest = passage.surroundings(plain.start, plain.end)
    if not lead.strip() and not rest.strip():
        return replace(plain, start=plain.start - len(lead.encode()), end=plain.end + len(rest.encode()))
    space = 0 if lead.strip() else len(rest) - len(rest.lstrip())
    return replace(plain, end=plain.end + space)


def _swallows(passage: Passage, end: int, text: str) -> bool:
    """Return whether a comment at the end of the replacement would swallow the rest of upstream's line."""
    rest = passage.surroundings(end, end)[1]
    last = list(tokens(text))[-1:]
    return bool(last and last[0].kind == "comment" and rest.strip() and not rest.lstrip().startswith("#"))


def _without_semicolons(passage: Passage, made: list[Exchange]) -> Iterator[Exchange]:
    """Remove one semicolon with each removed statement that shares its line."""
    layout = passage.layout
    taken: set[int] = set()
    for one in made:
        before, after = one.first - 1, one.behind
        if one.edit.replace.strip() or not _begins_statement(layout, one.first):
            yield one
        elif after < len(layout.texts) and layout.texts[after] == ";":
            taken.add(after)
            behind = passage.bytes_at(after, after + 1)[1]
            rest = passage.surroundings(behind, behind)[1]
            yield replace(one, behind=after + 1, end=behind + len(rest) - len(rest.lstrip(" \t")))
        elif before >= 0 and layout.texts[before] == ";" and layout.last(after - 1) and before not in taken:
            taken.add(before)
            yield replace(one, first=before, start=passage.bytes_at(before, before + 1)[0])
        else:
            yield one


def _begins_statement(layout: TokenLayout, token: int) -> bool:
    opens_suite = token in layout.suites and token - 1 not in layout.suites
    return layout.first(token) or layout.texts[token - 1] == ";" or opens_suite


def _with_pass(passage: Passage, made: list[Exchange]) -> Iterator[Exchange]:
    """Leave a ``pass`` in every block that keeps its header and loses all statements."""
    gone: set[int] = set()
    for one in made:
        if one.empties:
            gone.update(range(one.first, one.behind))
    needing: set[int] = set()
    for block in passage.blocks:
        start = block.starts[0]
        empty = all(gone.issuperset(range(*pair)) for pair in zip(block.starts, block.ends, strict=True))
        if start and start - 1 not in gone and empty:
            needing.add(start)
    for one in made:
        if not (one.empties and one.first in needing):
            yield one
        elif one.text:
            margin = passage.layout.margins[passage.layout.lines[one.first]]
            yield replace(one, text=f"{one.text}\n{margin}pass")
        else:
            start, end = passage.bytes_at(one.first, one.behind)
            yield replace(one, start=start, end=end, text="pass")


def _begun(layout: TokenLayout, depth: int) -> list[int]:
    """Return the tokens of a replacement that begin a logical line, given the open brackets before it."""
    found = []
    for number, token in enumerate(layout.tokens):
        if not number or (depth <= 0 and layout.breaks[number] is not None):
            found.append(number)
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
    return found


def _refusal(passage: Passage, first: int, behind: int, edit: Edit) -> tuple[str, str]:
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


def _relative(passage: Passage, first: int, new: TokenLayout, begun: list[int]) -> list[int]:
    """Return the block depth of each logical line of a replacement, relative to its first."""
    margins = new.statement_margins(begun, bracketed=passage.layout.depths[first] > 0) if begun else []
    return relative_levels(margins, passage.layout.step_of(margins))


def _arranged(passage: Passage, first: int, behind: int, text: str) -> str:
    """Return a replacement with every line but the first indented for its place.

    Statements keep their block depth relative to the first one. Continuation lines, and text inside upstream's
    brackets, keep their distance to the line above.
    """
    layout = layout_of(text)
    begun = _begun(layout, passage.layout.depths[first])
    levels: dict[int, int] = {}  # by physical line
    for token, level in zip(begun, _relative(passage, first, layout, begun), strict=True):
        levels[layout.source.count("\n", 0, layout.tokens[token].start)] = level
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


def _margins_of_levels(passage: Passage, first: int, behind: int) -> dict[int, str]:
    """Return upstream's indentation of the blocks around and in a place, by depth relative to it."""
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
