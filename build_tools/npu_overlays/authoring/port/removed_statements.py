"""Removed statements: an edit and its definition before and now → whether upstream deleted the edited statements.

A statement counts as deleted if nothing replaced it in its definition or elsewhere in the file: a rewritten or moved
statement may need the edit in another form. `relocations` looks into other files.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from functools import partial

from npu_overlays.authoring.port.logical_lines import Words, is_like, names_bound, words_of_lines
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.model.token_layout import TokenLayout, layout_of
from npu_overlays.overlay.operations import Edit, Operation

# A name that a configuration can have as a text.
_DOTTED = re.compile(r"\w+(?:\.\w+)+")
# What a definition begins with: its parameters are no work.
_HEADS = frozenset({"def", "@"})


def are_removed(operation: Operation, before: Module, now: Module) -> bool:
    """Return whether upstream deleted every statement that an edit changes.

    Args:
        operation: edits a definition that both modules have once.
        before: the module where the overlay was locked.
        now: the same module now.
    """
    old, new = _layout(before, operation.symbol), _layout(now, operation.symbol)
    deleted = _deleted(old, new)
    for edit in operation.edits:
        if not _lines_found(old, edit) <= deleted or not _is_gone(edit, before, now):
            return False
    was, has = (Counter(words_of_lines(layout_of(module.content.decode()))) for module in (before, now))
    return not any(_is_rewritten(edit, old, has - was) for edit in operation.edits)


def _deleted(old: TokenLayout, new: TokenLayout) -> frozenset[int]:
    """Return the numbers of the lines that a definition lost; none if it got lines: they may do the work of those.

    Its parameters and its docstring are no work.
    """
    lines, there = words_of_lines(old), words_of_lines(new)
    deleted = set[int]()
    for tag, start, end, first, behind in difflib.SequenceMatcher(None, lines, there, autojunk=False).get_opcodes():
        if tag != "equal":
            deleted.update(number for number in range(start, end) if _is_work(lines[number]))
            if any(map(_is_work, there[first:behind])):
                return frozenset()
    return frozenset(deleted)


def _is_work(line: Words) -> bool:
    return not _HEADS.intersection(line[:2]) and (len(line) > 1 or line[0][-1] not in "\"'")


def _layout(module: Module, symbol: str) -> TokenLayout:
    return layout_of(module.whole_text(chosen(module, symbol)[0].node).decode())


def _is_gone(edit: Edit, before: Module, now: Module) -> bool:
    """Return whether a find of an edit occurs in a file less often than before, by the edit's count."""
    find = layout_of(edit.find)
    had, has = (len(layout_of(module.content.decode()).occurrences(find)) for module in (before, now))
    return has <= had - edit.count


def _is_rewritten(edit: Edit, old: TokenLayout, new: Counter[tuple[str, ...]]) -> bool:
    """Return whether a new line binds a name that an edited line bound, or has a find's name as a text, or its line."""
    lines, finds = words_of_lines(old), list(filter(None, words_of_lines(layout_of(edit.find))))
    bound: set[str] = set()
    for line in _lines_found(old, edit):
        bound |= names_bound(lines[line])
    named = frozenset(_DOTTED.findall(edit.find))
    for words in new:
        texts = {word.strip("\"'") for word in words if word[0] in "\"'"}
        if bound & names_bound(words) or texts & named or any(map(partial(is_like, words), finds)):
            return True
    return False


def _lines_found(layout: TokenLayout, edit: Edit) -> frozenset[int]:
    """Return the numbers of the lines in which an edit's find occurs."""
    find = layout_of(edit.find)
    found: set[int] = set()
    for at in layout.occurrences(find):
        found.update(layout.lines[at : at + len(find.tokens)])
    return frozenset(found)
