"""Vanished: an edit, and the definition it is on as it was and as it is → whether upstream deleted what it changes.

Deleted is a statement that went while nothing came in its place, in its definition or elsewhere in the file: what was
rewritten may need the edit in another form, also where it moved, or where the class has what it assigned as a member.
In other files `resurfacing` looks for it.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence

from npu_overlays.model.logical_lines import Layout, layout_of
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, owner_of
from npu_overlays.overlay.operations import Edit, Operation
from npu_overlays.porting.alignment import statements
from npu_overlays.porting.lines import is_like, names_bound

_Words = tuple[str, ...]


def vanished(operation: Operation, before: Module, now: Module) -> bool:
    """Return whether upstream deleted every statement that an edit changes.

    Args:
        operation: edits a definition that both modules have once.
        before: the module where the overlay was locked.
        now: the same as it is now.
    """
    old, new = (_layout(module, operation.symbol) for module in (before, now))
    gone = frozenset(_deleted(statements(old), statements(new)))
    files = [layout_of(module.content.decode()) for module in (before, now)]
    if not all(_lines(old, edit) <= gone and _is_nowhere(edit, *files) for edit in operation.edits):
        return False
    came = _new(*(statements(_layout(module, _around(operation.symbol, before, now))) for module in (before, now)))
    return not any(_is_rewritten(edit, old, came) for edit in operation.edits)


def _around(symbol: str, *modules: Module) -> str:
    """Return the name of the class that a symbol is a member of, or its own where that is not there once in each."""
    owner = owner_of(symbol)
    return owner if all(len(chosen(one, owner)) == 1 for one in modules) else symbol


def _layout(module: Module, symbol: str) -> Layout:
    return layout_of(module.whole_text(chosen(module, symbol)[0].node).decode())


def _deleted(old: list[tuple[str, ...]], new: list[tuple[str, ...]]) -> Iterator[int]:
    """Yield the numbers of the lines that went, and in the place of which nothing stands."""
    for tag, start, end, _, _ in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "delete":
            yield from range(start, end)


def _new(old: Sequence[_Words], new: Sequence[_Words]) -> list[_Words]:
    """Return the lines that stand there more often than before, wherever they do."""
    return list(Counter(new) - Counter(old))


def _is_rewritten(edit: Edit, old: Layout, came: Sequence[_Words]) -> bool:
    """Return whether a new line binds what a line that an edit changes has bound, or says most of what it looks for."""
    lines, finds = statements(old), [one for one in statements(layout_of(edit.find)) if one]
    bound = {name for line in _lines(old, edit) for name in names_bound(lines[line])}
    return any(bound & names_bound(one) or any(is_like(one, find) for find in finds) for one in came)


def _lines(layout: Layout, edit: Edit) -> frozenset[int]:
    """Return the numbers of the lines on which an edit's find stands."""
    find = layout_of(edit.find)
    return frozenset(line for at in layout.occurrences(find) for line in layout.lines[at : at + len(find.tokens)])


def _is_nowhere(edit: Edit, before: Layout, now: Layout) -> bool:
    """Return whether a find stands nowhere in a file where it did not stand before."""
    counts = [len(file.occurrences(layout_of(edit.find))) for file in (before, now)]
    return counts[1] <= counts[0] - edit.count
