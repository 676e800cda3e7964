"""Misreadings: definition before and after its edits → code that Python reads differently from the edits."""

from __future__ import annotations

import keyword
from collections.abc import Iterator

from npu_overlays.merge.edits.exchanges import Exchange
from npu_overlays.model.fragments import Fragment, is_chain, read_fragment
from npu_overlays.model.passages import Block, Passage
from npu_overlays.model.token_layout import TokenLayout, layout_of
from npu_overlays.model.tokens import Token

Mistake = tuple[str, str]

_CONSTANTS = ("None", "True", "False")
_PARENTHESES = "put parentheses round it, or lengthen the find"


def misreadings(before: Passage, after: Passage, made: list[Exchange]) -> Iterator[Mistake]:
    """Yield (what is wrong, what to do).

    An expression in a find or a replacement must be one in its place too. Statements that no edit names must stay in
    their branch.
    """
    ordered = sorted(made, key=lambda one: one.first)
    follow = _Follow(ordered)
    if follow.moved(len(before.layout.tokens)) != len(after.layout.tokens):
        yield "runs into the code beside one of its replacements", "put white space round the replacement"
        return
    for one in ordered:
        if _is_joined(before.layout, one) and any(token.kind != "string" for token in layout_of(one.text).tokens):
            what = (
                f"`{one.edit.find}` is one of several strings that Python joins, and `{one.edit.replace}` is no string"
            )
            yield what, "let the find hold all of them"
        else:
            yield from _misread(before, after, one, follow.place(one))
    yield from _reowned(before, after, follow)


class _Follow:
    """The places of upstream's tokens after the edits."""

    def __init__(self, made: list[Exchange]) -> None:
        self._made = made
        self._sizes = {id(one): len(layout_of(one.text).tokens) for one in made}

    def moved(self, token: int) -> int | None:
        """Return a token's new number; None if it is exchanged."""
        shift = 0
        for one in self._made:
            if one.first <= token < one.behind:
                return None
            if one.behind <= token:
                shift += self._sizes[id(one)] - (one.behind - one.first)
        return token + shift

    def place(self, made: Exchange) -> int:
        """Return the first token of an exchange's new text."""
        earlier = (one for one in self._made if one.behind <= made.first)
        return made.first + sum(self._sizes[id(one)] - (one.behind - one.first) for one in earlier)

    def exchanged(self, token: int, *, now: bool) -> int | None:
        """Return the exchange that a token of upstream's, or of the new text if `now`, belongs to, or None."""
        for number, one in enumerate(self._made):
            first = self.place(one) if now else one.first
            size = self._sizes[id(one)] if now else one.behind - one.first
            if first <= token < first + size:
                return number
        return None


def _misread(before: Passage, after: Passage, one: Exchange, place: int) -> Iterator[Mistake]:
    find, new = read_fragment(one.edit.find), read_fragment(one.edit.replace)
    if not new.layout.tokens or _shape(find.layout) == _shape(new.layout):
        return
    dot = "." if one.first and before.layout.texts[one.first - 1] == "." else ""
    if dot or _opens_suffix(before.layout, one):
        if is_chain(dot + one.edit.find) and not is_chain(dot + one.edit.replace):
            yield f"`{one.edit.replace}` cannot stand behind an expression as `{one.edit.find}` does", _PARENTHESES
        return
    nodes = [before.is_node(one.first + first, one.first + behind) for first, behind in _ranges(find)]
    split = any(value.operation and not known for value, known in zip(find.values, nodes, strict=True))
    if split or (all(nodes) and not _side_by_side(before, find, one.first)):
        yield f"`{one.edit.find}` is no expression of its own where it stands, but a part of one", "lengthen the find"
    elif any(nodes) or find.kind != "values":
        what = f"`{one.edit.replace}` would"
        if _torn(after, new, place):
            yield f"{what} be torn apart by what stands beside it", _PARENTHESES
        elif not before.is_statement(one.first, one.behind):
            if not _stands_in(after, find, new, place):
                yield f"{what} stand inside a statement as `{one.edit.find}` does", "lengthen the find"
            if find.values and not _stands_in(before, new, find, one.first):
                yield f"`{one.edit.find}` is only a part of a statement where it stands", "lengthen the find"


def _shape(layout: TokenLayout) -> list[str]:
    """Return a text's tokens with names and literals masked; equal ones are parsed in the same way."""
    found: list[str] = []
    for token in layout.tokens:
        is_atom = token.kind in ("string", "number") or token.text in _CONSTANTS or _is_name(token)
        found.append("" if is_atom else token.text)
    return found


def _is_name(token: Token) -> bool:
    return token.kind == "name" and not keyword.iskeyword(token.text)


def _is_joined(layout: TokenLayout, one: Exchange) -> bool:
    """Return whether a find is a string that Python joins with a neighbouring one."""
    kinds = [token.kind for token in layout.tokens]
    beside = [*kinds[max(one.first - 1, 0) : one.first], *kinds[one.behind : one.behind + 1]]
    return "string" in beside and all(kind == "string" for kind in kinds[one.first : one.behind])


def _torn(after: Passage, new: Fragment, place: int) -> bool:
    """Return whether Python reads some expression of a replacement differently in its place."""
    # A single token is always whole, in any role: a name may become a parameter's.
    several = [(first, behind) for first, behind in _ranges(new) if behind > first + 1]
    whole = all(after.is_node(place + first, place + behind) for first, behind in several)
    return not whole or not _side_by_side(after, new, place)


def _stands_in(passage: Passage, expression: Fragment, other: Fragment, place: int) -> bool:
    """Return whether an expression is exchanged for an expression, an argument or a parameter."""
    read_alike = expression.kind != "values" or other.kind in ("values", "none")
    return read_alike or passage.is_named(place, place + len(other.layout.tokens))


def _ranges(fragment: Fragment) -> list[tuple[int, int]]:
    return [value.tokens for value in fragment.values]


def _side_by_side(passage: Passage, fragment: Fragment, at: int) -> bool:
    """Return whether expressions written side by side are neighbours at a place."""
    if fragment.kind != "values" or len(fragment.values) < 2:  # noqa: PLR2004  # one is beside nothing
        return True
    return passage.side_by_side([(at + first, at + behind) for first, behind in _ranges(fragment)])


def _opens_suffix(layout: TokenLayout, one: Exchange) -> bool:
    """Return whether a find is a suffix of an expression: an attribute, a call, a subscript."""
    if layout.texts[one.first] == ".":
        return True
    before = layout.tokens[one.first - 1] if one.first else None
    ends = before is not None and (_is_name(before) or before.kind == "string" or before.text in (")", "]", "}"))
    return ends and layout.texts[one.first] in ("(", "[") and not layout.first(one.first)


def _reowned(before: Passage, after: Passage, follow: _Follow) -> Iterator[Mistake]:
    """Yield what is wrong if an ``else``, an ``except`` or a statement would belong to another statement."""
    now: dict[int, Block] = {}
    for block in after.blocks:
        now |= dict.fromkeys(block.starts, block)
    for block in before.blocks:
        head = None if block.head is None else follow.moved(block.head)
        if head is None and block.head is not None:
            continue
        for start in block.starts:
            moved = follow.moved(start)
            if moved is not None and not _same_block(block, now.get(moved), head, follow):
                text = before.layout.source[before.layout.tokens[start].start :].partition("\n")[0].strip()
                yield f"`{text}` would come to belong to another statement", "let the find hold the whole statement"
                return


def _same_block(old: Block, new: Block | None, head: int | None, follow: _Follow) -> bool:
    if new is None or new.head != head:
        return False
    edited = follow.exchanged(old.owner, now=False)
    if edited is None:
        return new.owner == follow.moved(old.owner) or old.head is None
    return follow.exchanged(new.owner, now=True) == edited and (not old.kind or new.kind == old.kind)
