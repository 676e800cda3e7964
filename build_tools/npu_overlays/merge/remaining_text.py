"""Remaining text: upstream's text without removed parts → names in it that a merge would redirect."""

from __future__ import annotations

import ast
import builtins
import re
from bisect import bisect_right
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from npu_overlays.errors import Problem
from npu_overlays.merge.authorship import Authorship, line_at
from npu_overlays.merge.import_merge import RENAME, first_users
from npu_overlays.merge.results import AppliedOperation
from npu_overlays.merge.targets import problem
from npu_overlays.model.module import Module
from npu_overlays.model.scopes import Binding, Load, Scope, Scopes
from npu_overlays.model.selectors import leaf_of, owner_of
from npu_overlays.overlay.operations import ImportedName, Operation, imported_names

_RENAME_ADDED = "add it under another name"
# Lines a message names.
_LISTED = 5


class Reach(NamedTuple):
    """The binding of a read: how many scopes further out, whether it exists, and its imports.

    If anything but an import binds the name, no import is listed.
    """

    outer: int
    bound: bool
    imported: frozenset[str]

    def is_like(self, other: Reach) -> bool:
        """Return whether another read has the same binding, or the same import elsewhere."""
        return self[:2] == other[:2] or (bool(self.imported) and self.imported == other.imported)


def redirected_reads(
    before: Module, after: Module, now: Scopes, authorship: Authorship, names: Collection[str]
) -> Iterator[tuple[Scope, Load, int]]:
    """Yield upstream's reads of some names that get another binding in a patched module, with upstream's line.

    Args:
        before: upstream's module.
        after: the patched one.
        now: its scopes around what mentions the names.
        authorship: whose its bytes are.
        names: the names to compare.
    """
    earlier_loads = _loads(before.scopes_naming(names), names)
    was = {(before.span(load.at)[0], load.name): _reach(scope, load) for scope, load in earlier_loads}
    for scope, load in _loads(now, names):
        origin = authorship.origin(after.span(load.at)[0])
        earlier = None if origin is None else was.get((origin, load.name))
        if origin is not None and earlier and not _reach(scope, load).is_like(earlier):
            yield scope, load, line_at(before.content, origin)


def _reach(scope: Scope, load: Load) -> Reach:
    """Return the binding of a read."""
    owner, outer = scope.owner(load.name), 0
    if scope is owner and scope.kind == "class" and scope.parent:
        # In a class body a name is the module's until the class has bound it.
        late = all(one.line >= load.at.lineno for one in scope.bindings.get(load.name, []))
        owner = scope.parent.owner(load.name) if late else owner
    while scope is not owner and scope.parent:
        scope, outer = scope.parent, outer + 1
    return Reach(outer, load.name in owner.bindings, _imports(owner, load.name))


def _loads(scopes: Scopes, names: Container[str]) -> Iterator[tuple[Scope, Load]]:
    """Yield the reads of some names, each with its scope."""
    for scope in scopes.all:
        for load in scope.loads:
            if load.name in names:
                yield scope, load


def _imports(scope: Scope, name: str) -> frozenset[str]:
    """Return the import statements that bind a name in a scope; none if something else binds it too."""
    found: set[str] = set()
    for binding in scope.bindings.get(name, []):
        if not isinstance(binding.node, (ast.Import, ast.ImportFrom)):
            return frozenset()
        found |= {one.statement for one in imported_names(binding.node) if one.name == name}
    return frozenset(found)


def seen_by_upstream(
    module: Module,
    imports: Iterable[ImportedName],
    operations: Sequence[Operation],
    changes: Sequence[AppliedOperation],
) -> Iterator[Problem]:
    """Yield a problem for every name that a merge would bind and upstream's remaining code reads unbound.

    Such a name is a builtin, or comes from a star import, or is in ``__all__`` for another reason.
    """
    gone = _gone(changes)
    users = first_users(operations)
    for imported in imports:
        lines = _remaining(module, imported.name, gone)
        if lines and not module.outer_scopes.bound(imported.name):
            what = f"`{imported.statement}` would change what upstream's own code reads as `{imported.name}` ({lines})"
            yield problem(users[imported], what, RENAME)
    for operation in operations:
        is_new = operation.action == "added" and not operation.is_further
        lines = _remaining(module, operation.symbol, gone) if is_new else ""
        if lines:
            what = f"the added `{operation.symbol}` would change what upstream's own code reads by that name ({lines})"
            yield problem(operation, what, _RENAME_ADDED)


def read_otherwise(
    before: Module, after: Module, written: Scopes, authorship: Authorship, changes: Sequence[AppliedOperation]
) -> Iterator[Problem]:
    """Yield a problem for every name with another binding for upstream's remaining text in the merged module.

    Either an edit binds it in a nearer scope, or an operation removes its binding and uncovers another one.

    Args:
        before: upstream's module.
        after: the merged one.
        written: the scopes of that around what the operations wrote.
        authorship: whose its bytes are.
        changes: what the operations did.
    """
    edits = {one.operation.where: one.operation for one in changes if one.operation.action == "edited"}
    taken = _taken(before, changes)
    concerned = set(taken)
    if edits:
        for (_, name), makers in _bound(after, written, authorship).items():
            if not makers.isdisjoint(edits):
                concerned.add(name)
    if not concerned:  # reading every binding is slow
        return
    now = after.scopes_naming(concerned)
    bound = _bound(after, now, authorship) if edits else {}
    starred = any(not one.typing_only for one in now.stars)
    hidden: dict[str, Operation] = {}
    uncovered: dict[str, set[int]] = {}
    for scope, load, line in redirected_reads(before, after, now, authorship, concerned):
        makers = bound.get((scope.owner(load.name), load.name), set())
        if makers and makers <= edits.keys():
            hidden[load.name] = edits[min(makers)]
        elif load.name in taken and (_reach(scope, load).bound or starred or hasattr(builtins, load.name)):
            uncovered.setdefault(load.name, set()).add(line)
    for name, edit in hidden.items():
        what = f"the edit binds `{name}`, which upstream's own text of `{edit.symbol}` reads as another object"
        yield Problem(where=edit.where, what=what, fix="bind another name in the edit")
    for name, lines in uncovered.items():
        what = (
            f"`{name}` is taken away, and upstream's own text would read another object of that name ({_listed(lines)})"
        )
        yield Problem(where=taken[name].where, what=what, fix="keep it, or change that text too")


def bound_otherwise(
    before: Module, after: Module, authorship: Authorship, changes: Sequence[AppliedOperation]
) -> Iterator[Problem]:
    """Yield a problem for every name that upstream binds outside a function, and the merged module inside it.

    An edit that removes a ``global`` or a ``nonlocal`` does so.
    """
    edits = [one for one in changes if one.operation.action == "edited"]
    if not edits or not (before.may_name("global") or before.may_name("nonlocal")):
        return
    changed = before.scopes_around([(start, end) for start, end, _ in _gone(edits)])
    was = {(before.span(node)[0], name) for node, name, declared in _declared(changed) if declared}
    if not was:
        return
    for node, name, declared in _declared(after.scopes):
        origin = authorship.origin(after.span(node)[0])
        if declared or origin is None or (origin, name) not in was:
            continue
        word = re.compile(rb"\b%s\b" % re.escape(name.encode()))
        takers = [one.operation for one in edits if _cuts_out(one, before, word)]
        taker = takers[0] if takers else edits[0].operation
        place = f"`{name}` (line {line_at(before.content, origin)})"
        what = f"upstream's own text would bind {place} in its function alone: the edit takes its declaration out"
        yield Problem(
            where=taker.where, what=what, fix=f"keep the global or nonlocal of `{name}`, or change that text too"
        )


def _cuts_out(change: AppliedOperation, before: Module, word: re.Pattern[bytes]) -> bool:
    """Return whether an edit removes text with a word."""
    return any(word.search(before.content[one.start : one.end]) for one in change.splices)


def _declared(scopes: Scopes) -> Iterator[tuple[ast.AST, str, bool]]:
    """Yield each binding, its name, and whether the name is declared ``global`` or ``nonlocal`` there."""
    for scope, name, one in bindings_of(scopes):
        yield one.node, name, one.how == "global" or name in scope.outer


def bindings_of(scopes: Scopes) -> Iterator[tuple[Scope, str, Binding]]:
    """Yield every binding, with its scope and name."""
    for scope in scopes.all:
        for name, bindings in scope.bindings.items():
            for binding in bindings:
                yield scope, name, binding


def _bound(module: Module, scopes: Scopes, authorship: Authorship) -> dict[tuple[Scope, str], set[str]]:
    """Return the authors of the bindings of each name of a scope; an empty text means upstream."""
    found: dict[tuple[Scope, str], set[str]] = {}
    for scope, name, one in bindings_of(scopes):
        found.setdefault((scope, name), set()).add(authorship.at(module.span(one.node)[0]).where)
    return found


def _taken(module: Module, changes: Sequence[AppliedOperation]) -> dict[str, Operation]:
    """Return the names that lose an upstream binding, each with the operation that removes it."""
    # The name of what is wrapped stays bound, by its wrapper.
    changes = [one for one in changes if one.operation.action != "wrapped"]
    gone = _gone(changes)
    if not gone:
        return {}
    scopes = module.scopes_around([(start, end) for start, end, _ in gone])
    found: dict[str, Operation] = {}
    for _, name, binding in bindings_of(scopes):
        number = _taker(module.span(binding.node)[0], gone)
        if number is not None:
            found.setdefault(name, changes[number].operation)
    return found


def _gone(changes: Iterable[AppliedOperation]) -> list[tuple[int, int, int]]:
    """Return the byte ranges that operations remove, in order, each with the number of its operation."""
    found: list[tuple[int, int, int]] = []
    for number, change in enumerate(changes):
        found += [(one.start, one.end, number) for one in change.splices if one.start < one.end]
    return sorted(found)


def _remaining(module: Module, symbol: str, gone: Sequence[tuple[int, int, int]]) -> str:
    """Return the lines on which upstream's remaining text reads a name of the module or of a class."""
    parent, leaf = owner_of(symbol), leaf_of(symbol)
    if not module.may_name(leaf):
        return ""
    scopes = module.scopes_naming([leaf])
    loads = scopes.global_loads.get(leaf, [])
    if parent:
        # What is added to a class stands at its end; its annotations may be evaluated later, with the class's names.
        known = chain.from_iterable(scope.loads for scope in scopes.classes.get(parent, []))
        loads = [one for one in known if one.name == leaf and one.annotation]
    return _listed({one.at.lineno for one in loads if _taker(module.span(one.at)[0], gone) is None})


def _listed(lines: Collection[int]) -> str:
    listed = ", ".join(map(str, sorted(lines)[:_LISTED])) + (", …" if len(lines) > _LISTED else "")
    return f"line{'s' if len(lines) > 1 else ''} {listed}" if lines else ""


def _taker(offset: int, gone: Sequence[tuple[int, int, int]]) -> int | None:
    """Return the number of the operation that removes a byte, or None."""
    place = bisect_right(gone, (offset, float("inf"))) - 1
    return gone[place][2] if place >= 0 and offset < gone[place][1] else None
