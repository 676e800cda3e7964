"""Read occurrences: overlay and upstream tree → what each operation and added file reads there.

A name in the overlay's text stands for a symbol of upstream's. If that is data, the names behind its value count too,
as far as they are data. If it is a class, so do the attributes of its objects that the text, or overlay code that it
calls, reads from any object. A literal dictionary is listed entry by entry. Bodies of functions are not examined.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from npu_overlays.contracts.overlay_code import CodePiece, OverlayCode
from npu_overlays.contracts.reads import ReadOccurrence
from npu_overlays.contracts.symbol_descriptions import described
from npu_overlays.errors import Problem, suggestion
from npu_overlays.merge.results import Applied
from npu_overlays.model.attribute_chains import SUPER, Chain, chains, root_of
from npu_overlays.model.definitions import FUNCTIONS, FunctionNode, methods, stored_names
from npu_overlays.model.functions import first_parameter
from npu_overlays.model.symbol_lookup import ResolvedSymbol, SymbolLookup
from npu_overlays.model.syntax import all_of, is_name, names_import, nodes_of
from npu_overlays.overlay.content import Content

_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})


@dataclass(kw_only=True)
class Dependencies:
    """Follows the reads of a piece of an overlay to their dependencies, each symbol once.

    Args:
        upstream: its upstream.
        asked: the attribute names read from any object.
    """

    upstream: SymbolLookup
    asked: frozenset[str]
    seen: set[tuple[str, str]] = field(default_factory=set)

    def reached(self, root: ReadPlace) -> Iterator[ResolvedSymbol]:
        """Yield the symbols behind one place that no earlier place had."""
        pending = [one for one in root.found if one.symbol]
        while pending:
            found = pending.pop(0)
            if (found.path, found.symbol) not in self.seen:
                self.seen.add((found.path, found.symbol))
                yield found
                pending += self._beyond(found)

    def _beyond(self, found: ResolvedSymbol) -> list[ResolvedSymbol]:
        """Return the sources of a symbol's value; for a class, the attributes read from its objects."""
        if found.classes:
            members = (self.upstream.member(found, name) for name in sorted(self.asked))
            return [one for one in members if one]
        beyond: list[ResolvedSymbol] = []
        for value in found.values:
            if not isinstance(value.node, ast.Dict):
                for names in value.chains():
                    beyond += self.upstream.chain(found.origin.path, names)[-1:]
        return [one for one in beyond if one.symbol]


def read_occurrences(content: Content, upstream: SymbolLookup, applied: Applied) -> tuple[ReadOccurrence, ...]:
    """Return an overlay's reads of upstream, in the order of its operations and files.

    Args:
        content: the overlay.
        upstream: its upstream.
        applied: the result of applying it there; names in an edit's replacements mean what they mean in that text.
    """
    codes = OverlayCode(content, applied)
    found: list[ReadOccurrence] = []
    for code in codes.all:
        found += _of(code, codes, upstream)
    return tuple(found)


def unmet_depends(content: Content, upstream: SymbolLookup) -> Iterator[Problem]:
    """Yield a problem for each symbol in `depends` that upstream lacks.

    Args:
        content: the overlay.
        upstream: its upstream.
    """
    for operation in content.operations:
        for name in operation.depends:
            path, _, symbol = name.partition(":")
            if path not in upstream.absent and upstream.find(path, symbol) is None:
                module = upstream.module(path)
                near = module.nearest(symbol) if module else ""
                what = f"`depends` names `{name}`, which upstream does not have"
                fix = suggestion(f"{path}:{near}" if near else "", "correct the path and the name, or take it out")
                yield Problem(where=operation.where, what=what, fix=fix)


def _of(code: CodePiece, codes: OverlayCode, upstream: SymbolLookup) -> Iterator[ReadOccurrence]:
    """Yield the reads of one piece of an overlay; of several places that read one symbol, the first."""
    piece = PieceReads(code=code, codes=codes, upstream=upstream)
    follow = Dependencies(upstream=upstream, asked=piece.asked)
    for root in piece.roots():
        for found in follow.reached(root):
            yield ReadOccurrence(
                read=described(found, upstream), reader=code.reader, written=root.written, where=root.where
            )
    operation = code.operation
    if operation is None:
        return
    for name in operation.depends:
        path, _, symbol = name.partition(":")
        if there := upstream.find(path, symbol):
            read = described(there, upstream, whole=True)
            yield ReadOccurrence(read=read, reader=code.reader, written="depends", where=operation.where)


@dataclass(frozen=True, kw_only=True)
class ReadPlace:
    """One place in an overlay's text, and its meaning upstream."""

    written: str  # as it is written
    where: str  # file and line
    found: tuple[ResolvedSymbol, ...]  # what it leads to, step by step


@dataclass(frozen=True, kw_only=True)
class OverlayMethod:
    """A method of the overlay's in a class of upstream's, and the name of its first parameter."""

    node: FunctionNode
    owner: ResolvedSymbol
    first: str


@dataclass(frozen=True, kw_only=True)
class PieceReads:
    """One piece of an overlay's text, the other pieces, and upstream."""

    code: CodePiece
    codes: OverlayCode
    upstream: SymbolLookup

    @cached_property
    def asked(self) -> frozenset[str]:
        """The attribute names that it reads from any object."""
        return self.codes.vocabulary(self.code)

    @cached_property
    def methods(self) -> list[OverlayMethod]:
        """Its methods of upstream's classes: itself, or all methods of an edited class."""
        return [*self._methods(self.code.tree.body, self.code.owner)]

    def _methods(self, body: Iterable[ast.stmt], symbol: str) -> Iterator[OverlayMethod]:
        owner = self.upstream.find(self.code.path, symbol) if symbol else None
        for node in body:
            if isinstance(node, FUNCTIONS) and owner and (first := first_parameter(node)):
                yield OverlayMethod(node=node, owner=owner, first=first)
            elif isinstance(node, ast.ClassDef) and self.code.written is not None:
                yield from self._methods(node.body, f"{symbol}.{node.name}".lstrip("."))

    def root(self, names: Chain, node: ast.AST, found: Iterable[ResolvedSymbol]) -> ReadPlace:
        """Return a place."""
        operation = self.code.operation
        edited = operation is not None and operation.action == "edited"
        where = operation.where if operation and edited else self.code.where(node)
        return ReadPlace(written=".".join(names), where=where, found=tuple(found))

    def roots(self) -> Iterator[ReadPlace]:
        """Yield the places at which it reads upstream."""
        yield from self._of_returns()
        yield from self._of_self()
        yield from self._of_classes()
        looked = _looked_up(self.code.tree)
        for names, node in self.code.chains(self.code.tree):
            if self._is_free(root_of(node)) and (found := self._resolved(names)):
                beside = _enum_members(self.upstream, found[-1]) if node in looked else []
                yield self.root(names, node, [*found, *beside])
        yield from self._of_imports()

    def _of_returns(self) -> Iterator[ReadPlace]:
        """Yield the wrapped function, if the wrapper reads its result or returns something else."""
        operation = self.code.operation
        if operation is None or operation.action != "wrapped":
            return
        calls = [call for call in all_of(self.code.tree, ast.Call) if is_name(call.func, operation.upstream_name)]
        returned: list[ast.expr] = []
        for node in nodes_of(self.code.tree):
            if isinstance(node, (ast.Return, ast.YieldFrom)) and node.value:
                returned.append(node.value.value if isinstance(node.value, ast.Await) else node.value)
        if len(returned) != len(calls) or not set(returned).issubset(calls):
            found = self.upstream.find(operation.path, operation.name)
            yield self.root((operation.upstream_name,), self.code.tree.body[0], [found] if found else [])

    def _of_self(self) -> Iterator[ReadPlace]:
        """Yield the attributes of ``self`` that a method reads; if it is passed on, all attributes the code reads."""
        for method in self.methods:
            handed = False
            member = {method.first: self.upstream.member, SUPER: self.upstream.inherited}
            for names, node in self.code.chains(method.node):
                if names[0] in member and len(names) > 1:
                    there = member[names[0]](method.owner, names[1])
                    yield self.root(names[:2], node, [there] if there else [])
                handed = handed or (names == (method.first,) and not self._is_passed_on(node))
            names_asked = sorted(self.asked) if handed else []
            for name in names_asked:
                found = self.upstream.members(method.owner, [name])
                yield self.root((method.first, name), method.node, found)

    def _is_passed_on(self, node: ast.AST) -> bool:
        """Return whether an object is only passed to upstream's own method."""
        name = self.code.operation.upstream_name if self.code.operation else ""
        return any(is_name(call.func, name) and node in call.args for call in all_of(self.code.tree, ast.Call))

    def _of_classes(self) -> Iterator[ReadPlace]:
        """Yield the members of upstream bases that the overlay's classes override or read."""
        for node in filter(self.code.says, all_of(self.code.tree, ast.ClassDef)):
            bases: list[ResolvedSymbol] = []
            for base in node.bases:
                # Behind a class, `[…]` holds none of its bases.
                named = base.value if isinstance(base, ast.Subscript) else base
                bases += [one for one in self._resolved(tuple(ast.unparse(named).split(".")))[-1:] if one.classes]
            inherited = _inherited(node) if bases else {}
            for name, at in inherited.items():
                members = (self.upstream.member(base, name) for base in bases)
                yield self.root((node.name, name), at, filter(None, members))

    def _of_imports(self) -> Iterator[ReadPlace]:
        """Yield its imports, used or not."""
        inside = all_of(self.code.tree, (ast.Import, ast.ImportFrom))
        above = {one.name for one in self.code.operation.imports} if self.code.operation else set()
        for name in self.code.imports:
            node = next((one for one in inside if names_import(one, name)), self.code.tree)
            if (name in above or self.code.says(node)) and (found := self._resolved((name,))):
                yield self.root((name,), node, found)

    def _is_free(self, node: ast.AST) -> bool:
        """Return whether a name is not local to a function of the piece."""
        known = self.code.names
        return isinstance(node, ast.Name) and (known.is_outer(node) or known.is_imported(node))

    def _resolved(self, names: Chain) -> list[ResolvedSymbol]:
        """Return what a dotted name means upstream; nothing if it is the overlay's own."""
        known = self.code.imports.get(names[0])
        if known is not None:
            ours = self.codes.holds(known.module)
            first = None if ours else self.upstream.named(known.module, known.name)
            return [first, *self.upstream.members(first, names[1:])] if first else []
        operation = self.code.operation
        if operation is None or names[0] == operation.upstream_name or self.codes.own(self.code, names[0]):
            return []
        return self.upstream.chain(self.code.path, names)


def _inherited(node: ast.ClassDef) -> dict[str, ast.AST]:
    """Return the members of an overlay's class that bases may have too: its methods, and the names they read."""
    own: dict[str, ast.AST] = {one.name: one for one in methods(node)}
    found = {name: method for name, method in own.items() if name != "__init__"}
    for method in methods(node):
        first = first_parameter(method)
        for names, at in chains(method):
            if first and names[0] in (first, SUPER) and len(names) > 1 and names[1] not in own:
                found.setdefault(names[1], at)
    return found


def _looked_up(tree: ast.AST) -> set[ast.AST]:
    """Return the called and subscripted expressions in a piece of syntax."""
    found: set[ast.AST] = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.Call):
            found.add(node.func)
        elif isinstance(node, ast.Subscript):
            found.add(node.value)
    return found


def _enum_members(upstream: SymbolLookup, owner: ResolvedSymbol) -> list[ResolvedSymbol]:
    """Return the members of an enumeration; nothing for any other class."""
    bases = upstream.classes.outside(owner.origin) if owner.classes else set()
    if not any(base.rpartition(".")[2] in _ENUMS for base in bases):
        return []
    names: dict[str, None] = {}
    for node in owner.classes:
        for statement in node.body:
            names.update(dict.fromkeys(stored_names(statement)))
    return list(filter(None, (upstream.member(owner, name) for name in names)))
