"""Module derivation: an upstream module, its operations and the wanted text → the operations that give it."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import filterfalse

from npu_overlays.authoring.refresh.attempt import (
    Attempt,
    DerivedModule,
    EditedModule,
    applied,
    exchanged_imports,
    merged,
    removal,
)
from npu_overlays.authoring.refresh.equivalence import plain_imports, same_program
from npu_overlays.authoring.refresh.moved_operations import new_in, still_wanted
from npu_overlays.authoring.refresh.proposals import SymbolStates, dedented_text, new_operation, only, text_of
from npu_overlays.authoring.writer.merge_module_text import OperationChange
from npu_overlays.errors import MergeError
from npu_overlays.merge.actions.wraps import private_name
from npu_overlays.merge.module_deletion import does_nothing, each_deletion
from npu_overlays.model import classes_of
from npu_overlays.model.definitions import Definition
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, plain, symbol_of, symbols
from npu_overlays.overlay.operations import EVERYTHING, ImportedName, Operation


def derive(subject: EditedModule) -> DerivedModule:
    """Return the operations that give a module, and where they cannot, a patch below them.

    Where a patch cannot be below an operation, because it would have to change the text that the operation gives, the
    operation is given up: as few as possible, and the rest stay.

    Raises:
        MergeError: the wanted text is no Python, or neither operations nor a patch give it.
    """
    upstream, now, wanted = (Module(subject.path, one) for one in (subject.upstream, subject.now, subject.wanted))
    if found := _emptied(subject, upstream, wanted):
        return found
    exchanged = exchanged_imports(now.tree, wanted.tree)
    changes = _changes(subject, exchanged, upstream, now, wanted)
    whole, renamed = _renamed(changes, subject.operations, now, wanted)
    if renamed:
        # One definition renamed is not one that goes and one that comes: a patch has to rename it.
        changes = [one for one in changes if one.symbol not in whole and not one.is_addition]
    attempts = [Attempt(subject=subject, changes=fewer, exchanged=exchanged) for fewer in _ever_fewer(changes)]
    known = upstream.definitions.keys()
    if not renamed and (found := _first(attempts, known)):
        return found
    return _without_some(attempts, known, renamed)


def _first(attempts: Iterable[Attempt], known: Set[str]) -> DerivedModule | None:
    for attempt in attempts:
        if found := attempt.result(known):
            return found
    return None


def _renamed(
    changes: Sequence[OperationChange], operations: Sequence[Operation], now: Module, wanted: Module
) -> tuple[Set[str], Set[str]]:
    """Return the definitions that go as a whole although operations in them are still wanted, and these operations."""
    whole = [one.symbol for one in changes if _inside(one.wanted, operations)]
    new = new_in(now, wanted) if whole else []
    definitions: set[str] = set()
    symbols: set[str] = set()
    for symbol in whole:
        if kept := still_wanted(symbol, operations, now, new):
            definitions.add(symbol)
            symbols.update(one.symbol for one in kept)
    return definitions, symbols


def _without_some(attempts: Sequence[Attempt], known: Set[str], wanted: Set[str]) -> DerivedModule:
    """Return a patch that replaces as few operations as possible.

    The operations on `wanted` symbols go: their code is wanted elsewhere in the module.
    """
    subject = attempts[0].subject
    gone = {one.symbol: one for one in subject.operations}
    found = DerivedModule(changes=tuple(map(removal, gone.values())), before=subject.wanted, result=subject.wanted)
    for symbol in tuple(gone):
        fewer = {other: one for other, one in gone.items() if other != symbol}
        if symbol not in wanted and (better := _first((_without(attempt, fewer) for attempt in attempts), known)):
            gone, found = fewer, better
    # An operation that the work tree does not have any more is not given up.
    left = {one.symbol for one in attempts[0].changes if one.wanted is None} - wanted
    return dataclasses.replace(found, given_up=tuple(one for symbol, one in gone.items() if symbol not in left))


def _without(attempt: Attempt, gone: Mapping[str, Operation]) -> Attempt:
    """Return an attempt at the same with some operations taken out."""
    kept = [one for one in attempt.changes if one.symbol not in gone]
    return dataclasses.replace(attempt, changes=(*kept, *map(removal, gone.values())))


def _emptied(subject: EditedModule, upstream: Module, wanted: Module) -> DerivedModule | None:
    """Return what empties a module, if nothing is wanted of it that does anything; else None."""
    working = [one for number, one in enumerate(wanted.tree.body) if not does_nothing(one, first=not number)]
    if subject.operations or working:
        return None
    everything = new_operation(subject.path, EVERYTHING, "deleted", "attribute")
    try:
        deletions = list(each_deletion(everything, upstream))
    except MergeError:
        return None
    made = merged(subject, deletions) if deletions else None
    if made is None or not same_program(made.content, subject.wanted, upstream.definitions.keys()):
        return None
    change = OperationChange(known=None, wanted=everything)
    return DerivedModule(changes=(change,), before=None, result=made.content)


def _ever_fewer(changes: Sequence[OperationChange]) -> Iterable[tuple[OperationChange, ...]]:
    """Return the changes, then ever fewer: a patch takes over additions, then everything new, then everything."""
    no_additions = tuple(one for one in changes if not one.is_addition)
    nothing_new = tuple(one for one in changes if one.known)
    return dict.fromkeys([tuple(changes), no_additions, nothing_new, ()])


def _changes(
    subject: EditedModule, exchanged: Mapping[ImportedName, ImportedName], upstream: Module, now: Module, wanted: Module
) -> list[OperationChange]:
    """Return the change of each symbol that differs from what the operations give, with the imports there are now."""
    by_symbol = {_shortest(one, now, upstream): one for one in subject.operations}
    # The imports that the work tree exchanged are still those of the operations.
    imports = {one.name: one for one in (*plain_imports(wanted.tree), *exchanged)}
    changes: list[OperationChange] = []
    for differs in differing(now, wanted, by_symbol):
        known = by_symbol.get(differs)
        symbol = known.symbol if known else differs
        states = SymbolStates(
            path=subject.path, symbol=symbol, upstream=upstream, wanted=wanted, known=known, imports=imports
        )
        found = _best(subject, states, applied(subject.operations, changes))
        if found is not None:
            changes.append(found)
            changes += map(removal, _inside(found.wanted, subject.operations))
    return changes


def _shortest(operation: Operation, *modules: Module) -> str:
    """Return the symbol that `symbols` has for an operation's target, in the first module that defines it."""
    for module in modules:
        if one := only(module, operation.symbol):
            return symbol_of(module, one)
    return operation.symbol


def _inside(whole: Operation | None, operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations on members of what another operation replaces, adds or deletes as a whole."""
    if whole is None or whole.action == "edited":
        return []
    return [one for one in operations if one.symbol.startswith(f"{whole.symbol}.")]


def _best(subject: EditedModule, states: SymbolStates, operations: Sequence[Operation]) -> OperationChange | None:
    """Return the first proposal that gives the wanted text, or else the first that gives the wanted code."""
    symbol, known = states.symbol, states.known
    others = [one for one in operations if one.symbol != symbol]
    theirs, wanted = only(states.upstream, symbol), only(states.wanted, symbol)
    gone = not chosen(states.upstream, symbol) and not chosen(states.wanted, symbol)
    if gone or (theirs and code(theirs) == code(wanted)):
        # Comments alone are no change: a build would call the operation without effect.
        return removal(known) if known else None
    fallback: OperationChange | None = None
    for proposal in states.proposals():
        inside = _inside(proposal, others)
        result = merged(subject, [*filterfalse(inside.__contains__, others), proposal])
        if result is None:
            continue
        module = Module(subject.path, result.content)
        made = only(module, symbol)
        change = OperationChange(known=known, wanted=proposal)
        if text(module, made) == text(states.wanted, wanted):
            return change
        if fallback is None and code(made) == code(wanted):
            fallback = change
    return fallback


def text(module: Module, definition: Definition | None) -> str:
    """Return a definition as it is written, at column 0; an empty text for none."""
    return dedented_text(module, definition, comments=False) if definition else ""


def code(definition: Definition | None) -> str:
    """Return a definition's code without comments and layout; an empty text for none."""
    return ast.dump(definition.node) if definition else ""


def differing(now: Module, wanted: Module, operations: Mapping[str, Operation]) -> Iterator[str]:
    """Yield the symbols that differ, in the wanted order; of a class that stays, its members.

    `operations` are those on the module, by the symbols of what they give in it.
    """
    private = {_private(wanted, symbol) for symbol in symbols(wanted)}
    apart: dict[str, str] = {}
    for symbol, operation in operations.items():
        if operation.action == "wrapped":
            private.add(_private(now, symbol))
            # A wrapper whose original was edited is a wrapper no more: both are compared by themselves.
            if _is_original_edited(now, wanted, symbol):
                apart[symbol] = _private(now, symbol)
    private -= {*operations, *apart.values()}
    whole: dict[ast.stmt, str] = {}
    for symbol in dict.fromkeys([*symbols(wanted), *symbols(now)]):
        old, new = only(now, symbol), only(wanted, symbol)
        there = list(filter(None, (old, new)))
        if not there or plain(symbol) in private or any(_is_within(one, whole) for one in there):
            continue
        if old and new and _is_compared_by_member(old, new, operations.get(symbol), operations):
            continue
        for one in there:
            whole[one.node] = symbol
        if symbol in apart or _differs(now, wanted, old, new):
            yield symbol


def _private(module: Module, symbol: str) -> str:
    """Return the name that a symbol's original would have if it were wrapped; empty if there is no such symbol."""
    definition = only(module, symbol)
    return private_name(classes_of(module), module, definition) if definition else ""


def _is_within(definition: Definition, whole: Mapping[ast.stmt, str]) -> bool:
    """Return whether a definition is a member of one that is compared as a whole, or is assigned to one by its name."""
    inside = any(one.node in whole for one in definition.around if one is not definition)
    return inside or any(definition.name.startswith(f"{symbol}.") for symbol in whole.values())


def _is_original_edited(now: Module, wanted: Module, symbol: str) -> bool:
    """Return whether the original that a wrapper keeps is in both modules, with different code."""
    private = _private(now, symbol)
    old, new = only(now, private), only(wanted, private)
    return old is not None and new is not None and code(old) != code(new)


def _is_compared_by_member(
    old: Definition, new: Definition, known: Operation | None, operations: Mapping[str, Operation]
) -> bool:
    """Return whether a class is compared member by member."""
    if not isinstance(old.node, ast.ClassDef) or not isinstance(new.node, ast.ClassDef):
        return False
    if known is not None and known.action != "edited":
        return False
    has_operations = any(name.startswith(f"{old.name}.") for name in operations)
    return has_operations or _frame(old.node) == _frame(new.node)


def _frame(node: ast.ClassDef) -> tuple[object, ...]:
    """Return the part of a class that no operation on a member changes: its head, and statements that bind nothing."""
    head = list(map(ast.dump, (*node.bases, *node.keywords, *node.decorator_list)))
    bare = (ast.Expr, ast.If, ast.For, ast.With, ast.Try)
    return head, [ast.dump(one) for one in node.body if isinstance(one, bare)]


def _differs(now: Module, wanted: Module, old: Definition | None, new: Definition | None) -> bool:
    if old is None or new is None:
        # An import that is new is no change by itself: what needs it imports it.
        return new is None or new.kind != "import"
    return text_of(now, old) != text_of(wanted, new) and (code(old) != code(new) or text(now, old) != text(wanted, new))
