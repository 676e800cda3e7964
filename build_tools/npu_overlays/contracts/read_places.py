"""Pieces: one piece of an overlay's text, the rest of it and its upstream → the places at which it reads upstream."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from npu_overlays.contracts.overlay_code import CodePiece, OverlayCode
from npu_overlays.model.attribute_chains import SUPER, Chain, chains, root_of
from npu_overlays.model.definitions import FUNCTIONS, FunctionNode, stored_names
from npu_overlays.model.functions import first_parameter
from npu_overlays.model.symbol_lookup import ResolvedSymbol, SymbolLookup

_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})


@dataclass(frozen=True, kw_only=True)
class ReadPlace:
    """One place in an overlay's text, and what it means upstream.

    Args:
        written: as it is written.
        where: file and line.
        found: what it leads to, step by step.
    """

    written: str
    where: str
    found: tuple[ResolvedSymbol, ...]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method of the overlay's in a class of upstream's, and the name of its first parameter."""

    node: FunctionNode
    owner: ResolvedSymbol
    first: str


@dataclass(frozen=True, kw_only=True)
class PieceReads:
    """One piece of an overlay's text, the rest of it, and its upstream."""

    code: CodePiece
    codes: OverlayCode
    upstream: SymbolLookup

    @cached_property
    def asked(self) -> frozenset[str]:
        """The attributes that it asks for, of whatever."""
        return self.codes.vocabulary(self.code)

    @cached_property
    def methods(self) -> list[Method]:
        """The methods that it holds of classes of upstream's: itself, or of a class that is edited all of them."""
        return [*self._methods(self.code.tree.body, self.code.owner)]

    def _methods(self, body: Iterable[ast.stmt], symbol: str) -> Iterator[Method]:
        owner = self.upstream.find(self.code.path, symbol) if symbol else None
        for node in body:
            if isinstance(node, FUNCTIONS) and owner and (first := first_parameter(node)):
                yield Method(node=node, owner=owner, first=first)
            elif isinstance(node, ast.ClassDef) and self.code.written is not None:
                yield from self._methods(node.body, f"{symbol}.{node.name}".lstrip("."))

    def root(self, names: Chain, node: ast.AST, found: Iterable[ResolvedSymbol]) -> ReadPlace:
        """Return a place."""
        operation = self.code.operation
        edited = operation is not None and operation.action == "edited"
        where = operation.where if operation and edited else self.code.where(node)
        return ReadPlace(written=".".join(names), where=where, found=tuple(found))

    def roots(self) -> Iterator[ReadPlace]:
        """Yield the places at which it reads something of upstream's."""
        yield from self._of_returns()
        yield from self._of_self()
        yield from self._of_classes()
        looked = _looked_up(self.code.tree)
        for names, node in self.code.chains(self.code.tree):
            if self._is_free(root_of(node)) and (found := self._meant(names)):
                beside = _enum_members(self.upstream, found[-1]) if node in looked else []
                yield self.root(names, node, [*found, *beside])
        yield from self._of_imports()

    def _of_returns(self) -> Iterator[ReadPlace]:
        """Yield the wrapped function itself, where a wrapper looks at what it returns or returns something else."""
        operation = self.code.operation
        if operation is None or operation.action != "wrapped":
            return
        nodes = list(ast.walk(self.code.tree))
        calls = [node for node in nodes if _calls(node, operation.upstream_name)]
        returned = [one.value for one in nodes if isinstance(one, (ast.Return, ast.YieldFrom)) and one.value]
        bare = [one.value if isinstance(one, ast.Await) else one for one in returned]
        passed = [one for one in bare if one in calls]
        if not len(passed) == len(calls) == len(bare):
            found = self.upstream.find(operation.path, operation.name)
            yield self.root((operation.upstream_name,), self.code.tree.body[0], [found] if found else [])

    def _of_self(self) -> Iterator[ReadPlace]:
        """Yield the attributes of its object that a method reads; of one that is handed on, all that is asked for."""
        for method in self.methods:
            handed = False
            member = {method.first: self.upstream.member, SUPER: self.upstream.inherited}
            for names, node in self.code.chains(method.node):
                if names[0] in member and len(names) > 1:
                    there = member[names[0]](method.owner, names[1])
                    yield self.root(names[:2], node, [there] if there else [])
                handed = handed or (names == (method.first,) and not self._is_passed_on(node))
            for name in sorted(self.asked) if handed else ():
                found = self.upstream.members(method.owner, [name])
                yield self.root((method.first, name), method.node, found)

    def _is_passed_on(self, node: ast.AST) -> bool:
        """Return whether an object is only handed to upstream's own method."""
        name = self.code.operation.upstream_name if self.code.operation else ""
        return any(_calls(call, name) and node in getattr(call, "args", []) for call in ast.walk(self.code.tree))

    def _of_classes(self) -> Iterator[ReadPlace]:
        """Yield what classes of the overlay have from bases of upstream's: what they override, and read of it."""
        classes = (one for one in ast.walk(self.code.tree) if isinstance(one, ast.ClassDef))
        for node in filter(self.code.says, classes):
            # Behind a class, `[…]` holds none of its bases.
            stated = [one.value if isinstance(one, ast.Subscript) else one for one in node.bases]
            found = [self._meant(tuple(ast.unparse(one).split("."))) for one in stated]
            bases = [one[-1] for one in found if one and one[-1].classes]
            for name, at in _inherited(node).items() if bases else ():
                members = (self.upstream.member(base, name) for base in bases)
                yield self.root((node.name, name), at, filter(None, members))

    def _of_imports(self) -> Iterator[ReadPlace]:
        """Yield what it imports, whether or not it is named again."""
        inside = [one for one in ast.walk(self.code.tree) if isinstance(one, (ast.Import, ast.ImportFrom))]
        above = {one.name for one in self.code.operation.imports} if self.code.operation else set()
        for name in self.code.imports:
            node = next((one for one in inside if _binds(one, name)), self.code.tree)
            if (name in above or self.code.says(node)) and (found := self._meant((name,))):
                yield self.root((name,), node, found)

    def _is_free(self, node: ast.AST) -> bool:
        """Return whether a name is not one that a function of it gives a value of its own."""
        known = self.code.names
        return isinstance(node, ast.Name) and (known.is_outer(node) or known.is_imported(node))

    def _meant(self, names: Chain) -> list[ResolvedSymbol]:
        """Return what a dotted name means upstream; nothing where it is the overlay's own."""
        known = self.code.imports.get(names[0])
        if known is not None:
            ours = self.codes.holds(known.module)
            first = None if ours else self.upstream.named(known.module, known.name)
            return [first, *self.upstream.members(first, names[1:])] if first else []
        operation = self.code.operation
        if operation is None or names[0] == operation.upstream_name or self.codes.own(self.code, names[0]):
            return []
        return self.upstream.chain(self.code.path, names)


def _calls(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _inherited(node: ast.ClassDef) -> dict[str, ast.AST]:
    """Return the members of a class of the overlay's that bases may have too: its methods, and what those read."""
    methods = [one for one in node.body if isinstance(one, FUNCTIONS)]
    own = {one.name for one in methods}
    found: dict[str, ast.AST] = {one.name: one for one in methods if one.name != "__init__"}
    for method in methods:
        first = first_parameter(method)
        for names, at in chains(method) if first else ():
            if names[0] in (first, SUPER) and len(names) > 1 and names[1] not in own:
                found.setdefault(names[1], at)
    return found


def _binds(node: ast.AST, name: str) -> bool:
    aliases = node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else []
    return any(name in (alias.asname, alias.name) for alias in aliases)


def _looked_up(tree: ast.AST) -> set[ast.AST]:
    """Return what is called or subscripted in a piece of syntax."""
    nodes = list(ast.walk(tree))
    called: set[ast.AST] = {one.func for one in nodes if isinstance(one, ast.Call)}
    return called | {one.value for one in nodes if isinstance(one, ast.Subscript)}


def _enum_members(upstream: SymbolLookup, owner: ResolvedSymbol) -> list[ResolvedSymbol]:
    """Return the members of a class; nothing for one that is no enumeration."""
    bases = upstream.classes.outside(owner.origin) if owner.classes else set()
    if not any(base.rpartition(".")[2] in _ENUMS for base in bases):
        return []
    names = (name for node in owner.classes for one in node.body for name in stored_names(one))
    return [found for name in dict.fromkeys(names) if (found := upstream.member(owner, name))]
