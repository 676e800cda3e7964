"""Symbol lookup: dotted name in a module of a tree → the symbols it stands for, and where their values come from."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from npu_overlays.model.attribute_values import GivenValue, attribute_values
from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.constructors import constructor
from npu_overlays.model.definitions import FUNCTIONS, FunctionNode
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import plain
from npu_overlays.model.symbols import Symbol, Target
from npu_overlays.model.syntax import decorator_names

# Under any other decorator, what is called may be something else.
_TRANSPARENT = frozenset(
    {"staticmethod", "classmethod", "cache", "lru_cache", "no_grad", "inference_mode", "contextmanager", "override"}
    | {"abstractmethod", "overload"}
)


@dataclass(frozen=True, kw_only=True)
class ResolvedSymbol:
    """A symbol of the tree."""

    path: str  # repository path
    symbol: str  # qualified name; empty for a module
    origin: Symbol  # where it is written: of an inherited member, in the base
    nodes: tuple[ast.stmt, ...] = ()  # its definitions, more than one where it is defined in branches
    values: tuple[GivenValue, ...] = ()  # of what is assigned, what may give it its value

    @property
    def classes(self) -> list[ast.ClassDef]:
        """Its definitions as classes."""
        return [node for node in self.nodes if isinstance(node, ast.ClassDef)]


class SymbolLookup:
    """The symbols of one tree, by dotted names in an overlay's text.

    Args:
        classes: those of the tree.
        absent: paths that the pin has and the tree lacks; nothing is known of them.
    """

    def __init__(self, classes: ClassGraph, absent: frozenset[str]) -> None:
        self.classes = classes
        self.modules = classes.resolver.modules
        self.absent = absent
        self._resolver = classes.resolver
        self._given: dict[Symbol, dict[str, list[GivenValue]]] = {}

    def module(self, path: str) -> Module | None:
        """Return a module; None if it is absent or this Python cannot parse it."""
        return self.modules.module(path)

    def find(self, path: str, symbol: str) -> ResolvedSymbol | None:
        """Return what a qualified name in a module stands for, or None."""
        names = plain(symbol).split(".")
        found = self.chain(path, names)
        return found[-1] if len(found) == len(names) and found[-1].symbol else None

    def named(self, module: str, name: str) -> ResolvedSymbol | None:
        """Return what of upstream's an import brings: a name of a module, or without a name the module."""
        return self._first(self._resolver.lookup(module, name, follow=False) if name else [module])

    def chain(self, path: str, names: Sequence[str]) -> list[ResolvedSymbol]:
        """Return what each name of a chain ``a.b.c`` in a module stands for, as far as known."""
        first = self._first(self._resolver.found(path, names[0], follow=False))
        return [] if first is None else [first, *self.members(first, names[1:])]

    def members(self, owner: ResolvedSymbol, names: Sequence[str]) -> list[ResolvedSymbol]:
        """Return what each further name of a chain below a module or class stands for, as far as known."""
        found: list[ResolvedSymbol] = []
        for name in names:
            inner = self.member(owner, name)
            if inner is None:
                break
            found.append(inner)
            owner = inner
        return found

    def member(self, owner: ResolvedSymbol, name: str) -> ResolvedSymbol | None:
        """Return a name of a module, or a member of a class: its own, inherited, or set on ``self``."""
        if not owner.symbol:
            return self.named(self.modules.name(owner.path), name)
        for one in self._line(owner):
            if found := self._own(owner, one, name):
                return found
        return None

    def inherited(self, owner: ResolvedSymbol, name: str) -> ResolvedSymbol | None:
        """Return the member that ``super()`` of a class finds under a name, as one of its base."""
        classes = self.classes
        for one in classes.line(owner.origin)[1:]:
            for base in classes.bases(owner.origin).actual:
                if isinstance(base, Symbol) and one in classes.line(base) and (leading := self._resolved(base)):
                    if found := self._own(leading, one, name):
                        return found
                    break
        return None

    def takes(self, found: ResolvedSymbol, keyword: str) -> bool | None:
        """Return whether a call of a symbol accepts a keyword; None if unknown."""
        imported = any(one.kind == "import" for one in self.classes.definitions(found.origin))
        if found.classes:
            made = constructor(self.classes, found.origin) if len(found.nodes) == 1 and not imported else None
            if made is None or isinstance(made, frozenset):
                return None if made is None else keyword in made
            return _function_takes(made, keyword)
        answers = {_function_takes(node, keyword) if isinstance(node, FUNCTIONS) else None for node in found.nodes}
        if True in answers:
            return True
        # Its module may import the name too, in the other branch of a ``try``.
        return None if None in answers or not answers or imported else False

    def _line(self, owner: ResolvedSymbol) -> tuple[Symbol, ...]:
        """Return the MRO of a class, or of the class that is a name's value."""
        resolver, origin = self._resolver, owner.origin
        targets = [origin] if owner.classes else resolver.found(origin.path, origin.name, follow=True)
        for one in targets:
            if isinstance(one, Symbol) and resolver.inheritance.is_class(one):
                return self.classes.line(one)
        return ()

    def _own(self, owner: ResolvedSymbol, origin: Symbol, name: str) -> ResolvedSymbol | None:
        """Return a member in the body of a class or of one of its bases."""
        nodes = tuple(one.node for one in self.classes.definitions(origin.member(name)))
        if origin not in self._given:
            known = self.classes.definitions(origin)
            self._given[origin] = attribute_values(one.node for one in known if isinstance(one.node, ast.ClassDef))
        values = (*_values(nodes), *self._given[origin].get(name, []))
        if not nodes and not values:
            return None
        symbol = f"{owner.symbol}.{name}"
        return ResolvedSymbol(path=owner.path, symbol=symbol, origin=origin.member(name), nodes=nodes, values=values)

    def _first(self, targets: Iterable[Target]) -> ResolvedSymbol | None:
        """Return the first thing a name may stand for that is in upstream's text."""
        return next(filter(None, map(self._resolved, targets)), None)

    def _resolved(self, target: Target) -> ResolvedSymbol | None:
        if isinstance(target, Symbol):
            nodes = tuple(one.node for one in self.classes.definitions(target) if one.kind != "import")
            values = tuple(_values(nodes))
            return ResolvedSymbol(path=target.path, symbol=target.name, origin=target, nodes=nodes, values=values)
        path = self.modules.paths.get(target or "", "")
        return ResolvedSymbol(path=path, symbol="", origin=Symbol(path, "")) if path.endswith(".py") else None


def _values(nodes: Iterable[ast.stmt]) -> Iterator[GivenValue]:
    for node in nodes:
        value = getattr(node, "value", None)
        if isinstance(value, ast.expr):
            yield GivenValue(node=value)


def _function_takes(node: FunctionNode, keyword: str) -> bool | None:
    arguments = node.args
    if arguments.kwarg or any(one.arg == keyword for one in (*arguments.args, *arguments.kwonlyargs)):
        return True
    return False if decorator_names(node) <= _TRANSPARENT else None
