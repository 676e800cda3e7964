"""Argument comments: an operation that is written anew → the comments in its marker, by argument."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import TypeAlias

from npu_overlays.authoring.writer.statements import edit_text
from npu_overlays.model.module import Module
from npu_overlays.model.tokens import tokens
from npu_overlays.overlay.operations import Operation

_Argument: TypeAlias = ast.expr | ast.keyword


def comments(text: Module, mark: ast.Call, known: Operation, wanted: Operation, *, behind: int) -> dict[str, list[str]]:
    """Return the comments that are lost where an operation is written anew.

    Args:
        text: the merge module.
        mark: the operation's marker.
        known: what it says.
        wanted: what it is to say.
        behind: the byte behind what is written anew.

    Returns:
        Those beside each argument, by its name, or by its text where it has none; by an empty text those beside none.
    """
    texts: dict[_Argument, str] = {one: one.arg or "" for one in mark.keywords}
    texts |= dict.fromkeys(mark.args, wanted.text)
    edits: dict[_Argument, str] = dict(zip(mark.args, map(edit_text, known.edits), strict=False))
    texts |= edits
    found: defaultdict[str, list[str]] = defaultdict(list)
    for argument, lines in _beside(text, mark, behind):
        if lines:
            found[texts[argument] if argument else ""] += lines
    for argument in (*edits, *(one for one in mark.keywords if one.arg == "uses")):
        found[texts[argument]] += _comments(text.text(argument))
    return found


def _beside(text: Module, mark: ast.Call, behind: int) -> Iterator[tuple[_Argument | None, list[str]]]:
    """Yield the comments above each argument, and right behind it; for None those that stand beside none."""
    arguments: list[_Argument] = sorted((*mark.args, *mark.keywords), key=text.span)
    end = text.span(mark)[1]
    places = [*((*text.span(one), one) for one in arguments), (end, end, None), (behind, behind, None)]
    at, before = text.offset(mark.lineno), None
    for start, next_at, argument in places:
        first, _, rest = text.content[at:start].decode().partition("\n")
        yield before, _comments(first)
        yield argument, _comments(rest)
        at, before = next_at, argument


def _comments(source: str) -> list[str]:
    return [one.text for one in tokens(source) if one.kind == "comment"]
