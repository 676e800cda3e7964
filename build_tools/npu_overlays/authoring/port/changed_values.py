"""Changed values: an edit and its definition before and now → the edit with the numbers and texts upstream has now.

Upstream changed nothing else in the statements that the find is from, and the edit puts each value in as it stands in
the find: in the same place of the same call, between the same words.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from npu_overlays.authoring.port.logical_lines import Words, words_of_lines
from npu_overlays.authoring.port.renamed_words import UnprovenError, called_before, exchanged
from npu_overlays.model.token_layout import TokenLayout, layout_of
from npu_overlays.model.tokens import Token
from npu_overlays.overlay.operations import Edit

_DEFINING = frozenset({"def", "async", "class"})
_OPENING = frozenset("([{")
# What may stand behind an argument or a statement.
_ENDING = frozenset(")]},;")


def with_values(edit: Edit, before: str, now: str) -> tuple[Edit, dict[str, str]]:
    """Return an edit with the values that upstream has now, and these by the old ones; raises `UnprovenError`.

    Args:
        edit: the edit.
        before: the definition where the overlay was locked.
        now: the definition now.
    """
    find, put_in = layout_of(edit.find), layout_of(edit.replace)
    changed = _changed(find, layout_of(before), layout_of(now))
    if not changed:
        return edit, {}
    values = {find.texts[number]: text for number, text in changed.items()}
    said = said_of(values)
    repeated = [number for number, text in enumerate(put_in.texts) if text in values]
    known = [number for number, text in enumerate(find.texts) if text in values]
    if len(known) != len(changed) or len(set(values.values())) != len(values):
        raise UnprovenError(f"{said}, but not in every place")
    if Counter(_places(find, known)) != Counter(_places(put_in, repeated)):
        raise UnprovenError(f"{said}, and it puts in another value, or the same elsewhere")
    put = {number: values[put_in.texts[number]] for number in repeated}
    return replace(edit, find=_exchanged(find, changed), replace=_exchanged(put_in, put)), values


def said_of(values: Mapping[str, str]) -> str:
    """Return in words which values changed."""
    return "; ".join(f"`{old}` is `{new}` now" for old, new in values.items())


def _changed(find: TokenLayout, before: TokenLayout, now: TokenLayout) -> dict[int, str]:
    """Return the tokens of a find that are changed values, with the new ones; empty if more changed, or nothing."""
    lines, there = words_of_lines(before), words_of_lines(now)
    partners: dict[int, int] = {}
    for _, start, end, first, behind in difflib.SequenceMatcher(None, lines, there, autojunk=False).get_opcodes():
        paired = dict(zip(range(start, end), range(first, behind), strict=False))
        # Under another condition, the value may be that of another statement.
        heads = [one for one in paired if _is_condition(lines[one]) or _is_condition(there[paired[one]])]
        if end - start == behind - first and all(_is_alike(before, one, now, paired[one]) for one in heads):
            partners |= paired
    found: list[dict[int, str]] = []
    for at in before.occurrences(find):
        changed: dict[int, str] = {}
        for number in range(len(find.tokens)):
            line = before.lines[at + number]
            partner = partners.get(line, -1)
            if partner < 0 or not _is_alike(before, line, now, partner):
                return {}
            token = now.tokens[now.heads[partner] + at + number - before.heads[line]]
            if token.text != find.texts[number]:
                changed[number] = token.text
        found.append(changed)
    return found[0] if found and all(one == found[0] for one in found) else {}


def _is_condition(line: Words) -> bool:
    """Return whether a line opens a block other than that of a definition."""
    return line[-1:] == (":",) and line[0] not in _DEFINING


def _is_alike(before: TokenLayout, line: int, now: TokenLayout, partner: int) -> bool:
    """Return whether two lines differ in values alone."""
    one, other = (_tokens(layout, number) for layout, number in ((before, line), (now, partner)))
    if len(one) != len(other):
        return False
    return all(old.text == new.text or _are_values(old, new) for old, new in zip(one, other, strict=True))


def _are_values(*both: Token) -> bool:
    """Return whether tokens are two numbers or two texts; a formatted text has code in it."""
    kinds = {one.kind for one in both}
    is_formatted = any("f" in one.text.partition(one.text[-1])[0].lower() for one in both)
    return kinds == {"number"} or (kinds == {"string"} and not is_formatted)


def _tokens(layout: TokenLayout, line: int) -> Sequence[Token]:
    heads = [*layout.heads, len(layout.tokens)]
    return layout.tokens[heads[line] : heads[line + 1]]


def _places(layout: TokenLayout, numbers: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """Yield for each token its text, the call it is in, and the words around it there."""
    for number in numbers:
        before, depth, commas = layout.tokens[:number], 0, 0
        for token in reversed(before):
            depth += (token.text in ")]}") - (token.text in _OPENING)
            if depth < 0:
                break
            commas += token.text == "," and depth == 0
        beside = [one for one in (number - 2, number - 1, number + 1) if 0 <= one < len(layout.lines)]
        beside = [one for one in beside if layout.lines[one] == layout.lines[number]]
        words = [layout.texts[one] for one in beside if one < number]
        words = words[-1:] if words and words[-1] in (*_OPENING, ",") else words
        following = [layout.texts[one] for one in beside if one > number and layout.texts[one] not in _ENDING]
        yield layout.texts[number], called_before(before), str(commas), *words, "", *following


def _exchanged(layout: TokenLayout, texts: Mapping[int, str]) -> str:
    return exchanged(layout.source, [(layout.tokens[number], text) for number, text in sorted(texts.items())])
