"""Remaining text: upstream's text, less what operations take out → what a merge would make it read otherwise."""

from __future__ import annotations

import ast
import builtins
import re
from bisect import bisect_right
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from npu_overlays.errors import Problem
from npu_overlays.merge.authorship import Authorship
from npu_overlays.merge.import_merge import RENAME, imported_names
from npu_overlays.merge.results import AppliedOperation
from npu_overlays.merge.targets import problem
from npu_overlays.model.module import Module
from npu_overlays.model.scopes import Load, Scope
from npu_overlays.model.selectors import leaf_of, owner_of
from npu_overlays.overlay.operations import ImportedName, Operation

_RENAME_ADDED = "add it under another name"
# Lines a message names.
_LISTED = 5


class Reach(NamedTuple):
    """Where a read gets its name: how many scopes further out, whether something binds it there, and by which imports.

    Where anything but an import binds it, no import is named.
    """

    outer: int
    bound: bool
    imported: frozenset[str]

    def is_like(self, other: Reach) -> bool:
        """Return whether another read gets the same, or the very same import of elsewhere."""
        return self[:2] == other[:2] or (bool(self.imported) and self.imported == other.imported)


def reach(scope: Scope, load: Load) -> Reach:
    """Return where a read gets its name."""
    owner, outer = scope.owner(load.name), 0
    if scope is owner and scope.kind == "class" and scope.parent:
        # In a class body a name is the module's until the class has bound it.
        late = all(one.line >= load.at.lineno for one in scope.bindings.get(load.name, []))
        owner = scope.parent.owner(load.name) if late else owner
    while scope is not owner and scope.parent:
        scope, outer = scope.parent, outer + 1
    return Reach(outer, load.name in owner.bindings, _imports(owner, load.name))


def loads(module: Module, names: Container[str]) -> Iterator[tuple[Scope, Load]]:
    """Yield the reads of some names, each with the scope in which it stands."""
    return ((scope, load) for scope in module.scopes.all for load in scope.loads if load.name in names)


def _imports(scope: Scope, name: str) -> frozenset[str]:
    """Return the import statements that bind a name in a scope; none where something else binds it too."""
    nodes = [one.node for one in scope.bindings.get(name, [])]
    imports = [one for one in nodes if isinstance(one, (ast.Import, ast.ImportFrom))]
    statements = (one.statement for node in imports for one in imported_names(node) if one.name == name)
    return frozenset(statements) if len(imports) == len(nodes) else frozenset()


def seen_by_upstream(
    module: Module,
    imports: Iterable[ImportedName],
    operations: Sequence[Operation],
    changes: Sequence[AppliedOperation],
) -> Iterator[Problem]:
    """Yield a problem for every name a merge would bind that upstream's remaining code reads without binding it.

    Such a name is a builtin's, or comes by a star import, or is in ``__all__`` for another reason.
    """
    gone = sorted((one.start, one.end) for change in changes for one in change.splices if one.end > one.start)
    users = {imported: operation for operation in reversed(operations) for imported in operation.imports}
    for imported in imports:
        lines = _remaining(module, imported.name, gone)
        if lines and not module.scopes.bound(imported.name):
            what = f"`{imported.statement}` would change what upstream's own code reads as `{imported.name}` ({lines})"
            yield problem(users[imported], what, RENAME)
    for operation in (one for one in operations if one.action == "added" and not one.is_further):
        lines = _remaining(module, operation.symbol, gone)
        if lines:
            what = f"the added `{operation.symbol}` would change what upstream's own code reads by that name ({lines})"
            yield problem(operation, what, _RENAME_ADDED)


def read_otherwise(
    before: Module, after: Module, authorship: Authorship, changes: Sequence[AppliedOperation]
) -> Iterator[Problem]:
    """Yield a problem for every name that upstream's remaining text gets from elsewhere in the merged module.

    An edit binds it nearer, or an operation takes away what bound it, and another one of the name stands behind that.
    """
    edits = {one.operation.where: one.operation for one in changes if one.operation.action == "edited"}
    bound, taken = _bound(after, authorship) if edits else {}, _taken(before, changes)
    concerned = {*taken, *(name for (_, name), makers in bound.items() if makers & edits.keys())}
    was = {(before.span(load.at)[0], load.name): reach(scope, load) for scope, load in loads(before, concerned)}
    starred = any(not one.typing_only for one in after.scopes.stars)
    hidden: dict[str, Operation] = {}
    uncovered: dict[str, set[int]] = {}
    for scope, load in loads(after, concerned):
        origin = authorship.origin(after.span(load.at)[0])
        now = reach(scope, load)
        before_that = was.get((origin, load.name), now) if origin is not None else now
        if now.is_like(before_that):
            continue
        makers = bound.get((scope.owner(load.name), load.name), set())
        if makers and makers <= edits.keys():
            hidden[load.name] = edits[min(makers)]
        elif load.name in taken and (now.bound or starred or hasattr(builtins, load.name)):
            uncovered.setdefault(load.name, set()).add(before.content[:origin].count(b"\n") + 1)
    for name, edit in hidden.items():
        what = f"`{name}` is bound by the edit, and upstream's own text of `{edit.symbol}` reads another's"
        yield Problem(where=edit.where, what=what, fix="give what is bound another name")
    for name, lines in uncovered.items():
        what = f"`{name}` is taken away, and upstream's own text would get another one by that name ({_listed(lines)})"
        yield Problem(where=taken[name].where, what=what, fix="keep it, or change that text too")


def bound_otherwise(
    before: Module, after: Module, authorship: Authorship, changes: Sequence[AppliedOperation]
) -> Iterator[Problem]:
    """Yield a problem for every name that upstream's text binds outside its function, and in the merged module in it.

    That is what an edit does which takes out a ``global`` or a ``nonlocal``.
    """
    edits = [one for one in changes if one.operation.action == "edited"]
    was = {(before.span(node)[0], name) for node, name, declared in _declared(before) if declared} if edits else set()
    for node, name, declared in _declared(after) if was else ():
        origin = authorship.origin(after.span(node)[0])
        if declared or origin is None or (origin, name) not in was:
            continue
        word = re.compile(rb"\b%s\b" % re.escape(name.encode()))
        removed = ((one, before.content[cut.start : cut.end]) for one in edits for cut in one.splices)
        taker = next((one.operation for one, text in removed if word.search(text)), edits[0].operation)
        line = before.content[:origin].count(b"\n") + 1
        what = (
            f"upstream's own text would bind `{name}` (line {line}) in its function alone, for what the edit takes out"
        )
        yield Problem(where=taker.where, what=what, fix=f"keep `{name}` declared, or change that text too")


def _declared(module: Module) -> Iterator[tuple[ast.AST, str, bool]]:
    """Yield what binds a name, the name, and whether it is declared ``global`` or ``nonlocal`` there."""
    for scope in module.scopes.all:
        for name, bindings in scope.bindings.items():
            yield from ((one.node, name, one.how == "global" or name in scope.outer) for one in bindings)


def _bound(module: Module, authorship: Authorship) -> dict[tuple[Scope, str], set[str]]:
    """Return by scope and name who wrote what binds it; nobody's name for upstream."""
    return {
        (scope, name): {authorship.at(module.span(one.node)[0]).where for one in bindings}
        for scope in module.scopes.all
        for name, bindings in scope.bindings.items()
    }


def _taken(module: Module, changes: Sequence[AppliedOperation]) -> dict[str, Operation]:
    """Return the names of which an operation takes a binding of upstream's out."""
    gone = sorted((one.start, one.end, number) for number, change in enumerate(changes) for one in change.splices)
    gone = [one for one in gone if one[0] < one[1]]
    spans = [(start, end) for start, end, _ in gone]
    found: dict[str, Operation] = {}
    for scope in module.scopes.all:
        for name, bindings in scope.bindings.items():
            for offset in (module.span(one.node)[0] for one in bindings):
                if _within(offset, spans):
                    number = bisect_right(spans, (offset, float("inf"))) - 1
                    found.setdefault(name, changes[gone[number][2]].operation)
    return found


def _remaining(module: Module, symbol: str, gone: Sequence[tuple[int, int]]) -> str:
    """Return the lines on which upstream's text, less what is taken out, reads a name of the module or of a class."""
    parent, leaf = owner_of(symbol), leaf_of(symbol)
    scopes = module.scopes.classes.get(parent, [])
    # What is added to a class stands at its end; its annotations may be evaluated later, with the class's names.
    loads = [one for scope in scopes for one in scope.loads if one.name == leaf and one.annotation]
    lines = {
        one.at.lineno
        for one in (loads if parent else module.scopes.global_loads.get(leaf, []))
        if not _within(module.span(one.at)[0], gone)
    }
    return _listed(lines)


def _listed(lines: Collection[int]) -> str:
    listed = ", ".join(map(str, sorted(lines)[:_LISTED])) + (", …" if len(lines) > _LISTED else "")
    return f"line{'s' if len(lines) > 1 else ''} {listed}" if lines else ""


def _within(offset: int, spans: Sequence[tuple[int, int]]) -> bool:
    number = bisect_right(spans, (offset, float("inf"))) - 1
    return number >= 0 and spans[number][0] <= offset < spans[number][1]
