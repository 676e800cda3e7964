"""Readings: overlay and upstream tree → what each operation and added file reads there.

A name that the overlay's text reads stands for a symbol of upstream's. Where that is data, so are the names it gets its
value from, as far as they are data in their turn; where it is a class, the attributes of its objects are read too
that the text, or what it calls of the overlay's own, asks anything for. What a function does inside is not looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from npu_overlays.errors import Problem
from npu_overlays.overlay.content import Content
from npu_overlays.reads.chains import Chain, chains, first_parameter, local_names
from npu_overlays.reads.code import Code, Codes, edited_chains
from npu_overlays.reads.described import described, dictionary
from npu_overlays.reads.read import Reading
from npu_overlays.reads.upstream import Found, Upstream
from npu_overlays.syntax.definitions import FUNCTIONS


def readings(content: Content, upstream: Upstream) -> tuple[Reading, ...]:
    """Return what an overlay reads of its upstream, in the order of its operations and files."""
    codes = Codes(content)
    return tuple(reading for code in codes.all for reading in _of(code, codes, upstream))


def unmet(content: Content, upstream: Upstream, *, absent: frozenset[str] = frozenset()) -> Iterator[Problem]:
    """Yield a problem for all that `depends` names and upstream does not have.

    Args:
        content: the overlay.
        upstream: its upstream.
        absent: paths of which nothing is known.
    """
    for operation in content.operations:
        for name in operation.depends:
            path, _, symbol = name.partition(":")
            if path not in absent and upstream.find(path, symbol) is None:
                module = upstream.module(path)
                near = module.nearest(symbol) if module else ""
                what = f"`depends` names `{name}`, which upstream does not have"
                fix = f"nearest: `{path}:{near}`" if near else "correct the path and the name, or take it out"
                yield Problem(where=operation.where, what=what, fix=fix)


@dataclass(frozen=True, kw_only=True)
class Root:
    """One place in an overlay's text, and what it means upstream.

    Args:
        written: as it is written.
        where: file and line.
        found: what it leads to, step by step.
        asked: the attributes that are asked for where it is an object's class.
    """

    written: str
    where: str
    found: tuple[Found, ...]
    asked: frozenset[str]


def _of(code: Code, codes: Codes, upstream: Upstream) -> Iterator[Reading]:
    """Yield what one piece of an overlay reads; of several places that read one symbol, the first."""
    follow = _Follow(upstream)
    for root in roots(code, codes, upstream):
        for found in follow.reached(root):
            yield Reading(read=described(found), reader=code.reader, written=root.written, where=root.where)
    operation = code.operation
    for name in operation.depends if operation else ():
        path, _, symbol = name.partition(":")
        if operation and (found_there := upstream.find(path, symbol)):
            read = described(found_there, whole=True)
            yield Reading(read=read, reader=code.reader, written="depends", where=operation.where)


def roots(code: Code, codes: Codes, upstream: Upstream) -> Iterator[Root]:
    """Yield the places of one piece of an overlay at which it reads something of upstream's."""
    asked = codes.vocabulary(code, code.tree)
    if code.operation is not None and code.operation.action == "edited":
        yield from _of_edits(code, codes, upstream, asked)
        return
    yield from _of_returns(code, upstream)
    owner = upstream.find(code.path, code.owner) if code.owner else None
    for method, first in _methods(code):
        yield from _of_self(code, method, first, owner, upstream, asked)
    yield from _of_classes(code, codes, upstream, asked)
    skipped = {first for _, first in _methods(code)}
    for names, node in chains(code.tree):
        if names[0] not in skipped and (found := _meant(code, codes, upstream, names)):
            yield Root(written=".".join(names), where=code.where(node), found=tuple(found), asked=asked)
    yield from _of_imports(code, codes, upstream, asked)


def _of_edits(code: Code, codes: Codes, upstream: Upstream, asked: frozenset[str]) -> Iterator[Root]:
    """Yield what the replacements of an edit read; they stand in upstream's own text."""
    assert code.operation is not None  # noqa: S101  # the caller asked
    target = upstream.find(code.path, code.operation.symbol)
    owner = upstream.find(code.path, code.owner) if code.owner else None
    nodes = target.nodes if target else ()
    local = frozenset(name for node in nodes for name in local_names(node))
    first = next((first_parameter(node) for node in nodes), "") if owner else ""
    for names in edited_chains(code.operation):
        found: list[Found] = []
        if owner and names[0] == first and len(names) > 1:
            found = upstream.members(owner, names[1:2])
        elif names[0] not in local:
            found = _meant(code, codes, upstream, names)
        if found:
            yield Root(written=".".join(names), where=code.operation.where, found=tuple(found), asked=asked)


def _of_returns(code: Code, upstream: Upstream) -> Iterator[Root]:
    """Yield the wrapped function itself, where a wrapper looks at what it returns or returns something of its own."""
    operation = code.operation
    if operation is None or operation.action != "wrapped":
        return
    calls = [node for node in ast.walk(code.tree) if _calls(node, operation.upstream_name)]
    returned = [one.value for one in ast.walk(code.tree) if isinstance(one, (ast.Return, ast.YieldFrom)) and one.value]
    bare = [one.value if isinstance(one, ast.Await) else one for one in returned]
    passed = [one for one in bare if one in calls]
    if len(passed) == len(calls) == len(bare):
        return
    if found := upstream.find(code.path, operation.symbol):
        yield Root(written=operation.upstream_name, where=operation.where, found=(found,), asked=frozenset())


def _calls(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _methods(code: Code) -> list[tuple[ast.AST, str]]:
    """Return the function that an operation on a member of a class is, with the name of its first parameter."""
    body = code.tree.body if code.owner else []
    return [(node, first) for node in body if (first := first_parameter(node))]


def _of_self(  # noqa: PLR0913  # one place and what is known of it
    code: Code, method: ast.AST, first: str, owner: Found | None, upstream: Upstream, asked: frozenset[str]
) -> Iterator[Root]:
    """Yield the attributes of its object that a method reads; of one that is handed on, all that is asked for."""
    handed = False
    for names, node in chains(method) if owner else ():
        if names[0] == first and len(names) > 1 and owner:
            found = tuple(upstream.members(owner, names[1:2]))
            yield Root(written=f"{first}.{names[1]}", where=code.where(node), found=found, asked=asked)
        handed = handed or (names == (first,) and not _is_passed_on(method, node, code))
    for name in sorted(asked) if handed and owner else ():
        found = tuple(upstream.members(owner, [name])) if owner else ()
        yield Root(written=f"{first}.{name}", where=code.where(method), found=found, asked=asked)


def _is_passed_on(method: ast.AST, node: ast.AST, code: Code) -> bool:
    """Return whether an object is only handed to upstream's own method."""
    name = code.operation.upstream_name if code.operation else ""
    return any(_calls(call, name) and node in getattr(call, "args", []) for call in ast.walk(method))


def _of_classes(code: Code, codes: Codes, upstream: Upstream, asked: frozenset[str]) -> Iterator[Root]:
    """Yield what classes of the overlay have from bases of upstream's: what they override, and what they read of it."""
    for node in (one for one in ast.walk(code.tree) if isinstance(one, ast.ClassDef)):
        found = (_meant(code, codes, upstream, names) for names, _ in chains(*node.bases))
        bases = [one[-1] for one in found if one and one[-1].classes]
        methods = [one for one in node.body if isinstance(one, FUNCTIONS)] if bases else []
        own = {one.name for one in methods}
        read = {one.name: one for one in methods if one.name != "__init__"}
        for method in methods:
            first = first_parameter(method)
            inner = ((names, at) for names, at in chains(method) if first and names[0] == first and len(names) > 1)
            read |= {names[1]: at for names, at in inner if names[1] not in own}  # type: ignore[misc]  # any node
        for base in bases:
            for name, at in read.items():
                if member := upstream.member(base, name):
                    written = f"{node.name}.{name}"
                    yield Root(written=written, where=code.where(at), found=(member,), asked=asked)


def _of_imports(code: Code, codes: Codes, upstream: Upstream, asked: frozenset[str]) -> Iterator[Root]:
    """Yield what an overlay's text imports, whether or not it is named again."""
    for name in code.imports:
        if found := _meant(code, codes, upstream, (name,)):
            where = next((code.where(node) for node in ast.walk(code.tree) if _binds(node, name)), "")
            at = code.operation.where if code.operation else f"{code.file}:1"
            yield Root(written=name, where=where or at, found=tuple(found), asked=asked)


def _binds(node: ast.AST, name: str) -> bool:
    aliases = node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else []
    return any(name in (alias.asname, alias.name) for alias in aliases)


def _meant(code: Code, codes: Codes, upstream: Upstream, names: Chain) -> list[Found]:
    """Return what a dotted name in an overlay's text means upstream; nothing where it is the overlay's own."""
    known = code.imports.get(names[0])
    if known is not None:
        if codes.holds(known.module):
            return []
        first = upstream.named(known.module, known.name)
        return [first, *upstream.members(first, names[1:])] if first else []
    if code.operation is None or codes.own(code, names[0]) or names[0] == code.operation.upstream_name:
        return []
    return [] if names[0] in local_names(code.tree) else upstream.chain(code.path, names)


@dataclass
class _Follow:
    """Follows what a piece of an overlay reads to all that it depends on, each symbol once."""

    upstream: Upstream
    seen: set[tuple[str, str]] = field(default_factory=set)

    def reached(self, root: Root) -> Iterator[Found]:
        """Yield the symbols that one place leads to, and that no earlier one led to."""
        pending = [one for one in root.found if one.symbol]
        while pending:
            found = pending.pop(0)
            if (found.path, found.symbol) not in self.seen:
                self.seen.add((found.path, found.symbol))
                yield found
                pending += self._beyond(found, root.asked)

    def _beyond(self, found: Found, asked: frozenset[str]) -> list[Found]:
        """Return what a symbol has its value from, or of a class, what is asked for of its objects."""
        if found.classes:
            members = (self.upstream.member(found, name) for name in sorted(asked))
            return [one for one in members if one]
        beyond: list[Found] = []
        for value in found.values:
            for names, _ in chains(value.node) if not dictionary(value.node) else ():
                if names[0] not in value.local:
                    beyond += self.upstream.chain(found.home, names)[-1:]
        return [one for one in beyond if one.symbol]
