"""Logical lines: the words of a line → its syntax and the names that it binds; and a three-way comparison of lines.

A logical line is a tuple of words; files that are not Python are compared by lines of bytes.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import operator
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import TypeAlias, TypeVar

from npu_overlays.model.syntax import syntax_tree
from npu_overlays.model.token_layout import TokenLayout

Words: TypeAlias = tuple[str, ...]
_Line = TypeVar("_Line", bound=Hashable)


def words_of_lines(layout: TokenLayout) -> list[Words]:
    """Return the words of each logical line."""
    return [tuple(layout.texts[start:end]) for start, end in pairwise([*layout.heads, len(layout.tokens)])]


def syntax_of(words: Words) -> ast.stmt | None:
    """Return the syntax of a line, a block's head with an empty block; None for part of a statement, as ``else:``."""
    text = " ".join(words)
    for whole in (text, f"{text} pass"):
        try:
            return next(iter(syntax_tree(whole.encode()).body), None)
        except (SyntaxError, ValueError):
            continue
    return None


def names_bound(words: Words) -> frozenset[str]:
    """Return the names that a line binds; an attribute by its name alone, since it may be a member now."""
    found: set[str] = set()
    statement = syntax_of(words)
    if statement is None:
        return frozenset()
    for node in ast.walk(statement):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            found.add(node.attr if isinstance(node, ast.Attribute) else ast.unparse(node))
    return frozenset(found)


def is_like(words: Words, find: Words) -> bool:
    """Return whether a line has more than half of the names and values of a find, in any order.

    A text may be a name there: `to("cuda")` and `cuda()`.
    """
    sought, there = (Counter(word.strip("\"'") for word in filter(_is_telling, line)) for line in (find, words))
    return 2 * (sought & there).total() > sought.total()


def _is_telling(word: str) -> bool:
    """Return whether a word is a name or a value: most lines have punctuation and keywords."""
    return (word[0].isalnum() or word[0] in "_\"'") and not keyword.iskeyword(word)


def is_made(
    before: Sequence[_Line],
    made: Sequence[_Line],
    now: Sequence[_Line],
    *,
    contains: Callable[[_Line, _Line], bool] = operator.eq,
) -> bool:
    """Return whether upstream made our change: each line of ours is in its place now.

    As in a three-way merge, lines that all versions have separate the places. If upstream changed other lines of a
    place, too, it must have as many lines as ours, in the same order. A change that only deletes lines does not show
    who made it, so the answer is no.

    Args:
        before: the lines at the base.
        made: the lines after our change.
        now: upstream's lines now.
        contains: whether a line has another one as a part; a line that had that part at the base does not count.
    """
    to_made, to_now = _matching(before, made), _matching(before, now)
    kept = frozenset(to_made.values())
    shared = [(-1, -1, -1)]
    for number in range(len(before)):
        if number in to_made and number in to_now:
            shared.append((number, to_made[number], to_now[number]))
    shared.append((len(before), len(made), len(now)))
    is_changed = False
    for start, end in pairwise(shared):
        old, ours, theirs = (
            lines[first + 1 : behind] for lines, first, behind in zip((before, made, now), start, end, strict=True)
        )
        if old == ours:
            continue
        is_changed = True
        put = [number for number in range(len(ours)) if start[1] + 1 + number not in kept]
        if not put or len(ours) != len(theirs):
            return False
        for number in put:
            line, there = ours[number], theirs[number]
            is_part = contains(there, line) and not any(contains(one, line) for one in old)
            if line != there and not is_part:
                return False
    return is_changed


def _matching(one: Sequence[_Line], other: Sequence[_Line]) -> dict[int, int]:
    """Return which line of one version is which line of another, by their numbers."""
    found: dict[int, int] = {}
    for block in difflib.SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        found.update(zip(range(block.a, block.a + block.size), range(block.b, block.b + block.size), strict=True))
    return found
