"""Class graph: the classes of one tree → their bases, heirs and members, across modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cached_property

from npu_overlays.model.definitions import FUNCTIONS, Definition, methods
from npu_overlays.model.external_classes import external_has
from npu_overlays.model.functions import first_parameter
from npu_overlays.model.inheritance import Bases, Mro
from npu_overlays.model.module import Module
from npu_overlays.model.resolver import Resolver
from npu_overlays.model.symbols import Symbol, Target
from npu_overlays.model.syntax import called, is_name, nodes_of

# A class that may have a name among its bases.
_HEADER = rb"\bclass\s+\w+\s*(?:\[[^\]]*\]\s*)?\([^:]*\b(?:%s)\b"
# What gives one of some names another: ``import … as``, or an assignment.
_ALIAS = rb"\b(?:%s)\s+as\s+(\w+)|^(\w+)\s*=\s*(?:[\w.]+\.)?(?:%s)\s*$"
# Bindings that are no definitions and that last, unlike ``except … as``.
_HELD = frozenset({"for", "with", ":=", "case"})
_STRUCTS = b"msgspec"
_INTERFACE = "zope.interface.Interface"
_ANSWERING = frozenset({"__getattr__", "__getattribute__"})


class ClassGraph:
    """The classes of one tree, upstream's or the patched one.

    Args:
        resolver: says what the names in its modules stand for.
    """

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._members: dict[str, dict[str, tuple[frozenset[str], frozenset[str]]]] = {}

    def with_module(self, path: str, content: bytes) -> ClassGraph:
        """Return the classes of the same tree with new content for one module."""
        return ClassGraph(Resolver(self.resolver.modules.with_module(path, content)))

    @property
    def texts(self) -> Mapping[str, bytes]:
        """The content of every Python module, by repository path."""
        return self.resolver.modules.texts

    @cached_property
    def may_have_structs(self) -> bool:
        """Whether any module may have a ``msgspec.Struct``, by its text alone."""
        return any(_STRUCTS in content for content in self.texts.values())

    def module(self, path: str) -> Module | None:
        """Return a module of the tree; None if it is absent or this Python cannot parse it."""
        return self.resolver.modules.module(path)

    def definitions(self, symbol: Symbol) -> list[Definition]:
        """Return what defines a symbol."""
        module = self.module(symbol.path)
        return module.definitions.get(symbol.name, []) if module else []

    def node(self, symbol: Symbol) -> ast.ClassDef | None:
        """Return a class; None unless exactly one has the name."""
        known = self.definitions(symbol)
        node = known[0].node if len(known) == 1 else None
        return node if isinstance(node, ast.ClassDef) else None

    def text(self, symbol: Symbol) -> bytes:
        """Return the source of a class, decorators included; empty unless exactly one has the name."""
        module, node = self.module(symbol.path), self.node(symbol)
        return module.whole_text(node) if module and node else b""

    def classes(self, path: str) -> Iterator[Symbol]:
        """Yield the classes of a module."""
        module = self.module(path)
        definitions = module.definitions if module else {}
        for name, known in definitions.items():
            if any(isinstance(one.node, ast.ClassDef) for one in known):
                yield Symbol(path, name)

    def bases(self, symbol: Symbol) -> Bases:
        """Return the bases of a class."""
        return self.resolver.inheritance.bases(symbol)

    def mro(self, symbol: Symbol) -> Mro:
        """Return the MRO of a class."""
        return self.resolver.inheritance.mro(symbol)

    def line(self, symbol: Symbol) -> tuple[Symbol, ...]:
        """Return the MRO of a class without classes from outside the tree."""
        return self.mro(symbol).line

    def members(self, symbol: Symbol) -> frozenset[str]:
        """Return the names that a class's own body binds, or its module by ``Class.name = …``.

        A bare annotation counts only if something may make a field of it.
        """
        bound, declared = self._names(symbol)
        return bound | declared if declared and self._makes_fields(symbol) else bound

    def declares(self, symbol: Symbol, name: str) -> bool:
        """Return whether a class, or a base in this tree, has a bare annotation of a name."""
        return any(name in self._names(one)[1] for one in self.line(symbol))

    def _names(self, symbol: Symbol) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names that a class's own body binds, and those that it only annotates."""
        if symbol.path not in self._members:
            module = self.module(symbol.path)
            definitions = module.definitions if module else {}
            found: dict[str, tuple[set[str], set[str]]] = {}
            for name, known in definitions.items():
                owner, _, leaf = name.rpartition(".")
                found.setdefault(owner, (set(), set()))[all(map(_only_annotates, known))].add(leaf)
            if module:
                for owner, name in _held_otherwise(module):
                    found.setdefault(owner, (set(), set()))[0].add(name)
            self._members[symbol.path] = {owner: (frozenset(a), frozenset(b)) for owner, (a, b) in found.items()}
        return self._members[symbol.path].get(symbol.name, (frozenset(), frozenset()))

    def _makes_fields(self, symbol: Symbol) -> bool:
        """Return whether a decorator, a metaclass or a base from elsewhere may make fields of annotations."""
        for one in self.line(symbol):
            node = self.node(one)
            if node is None or node.decorator_list or node.keywords or self.foreign(one, "") is None:
                return True
        return False

    def gives(self, symbol: Symbol) -> dict[str, set[str]]:
        """Return the attributes that a class's own methods set on ``self``, each with those methods."""
        found: dict[str, set[str]] = {name: set() for name in self.members(symbol)}
        node = self.node(symbol)
        functions = methods(node) if node else []
        for method in functions:
            own = first_parameter(method)
            for one in _assigned_attributes(method):
                if is_name(one.value, own):
                    found.setdefault(one.attr, set()).add(method.name)
        return found

    def owner(self, symbol: Symbol, name: str) -> Symbol | None:
        """Return the first class in an MRO that has a member."""
        for one in self.line(symbol):
            if name in self.members(one):
                return one
        return None

    def has(self, symbol: Symbol, name: str) -> bool | None:
        """Return whether the objects of a class have an attribute; None if unknown."""
        if self.owner(symbol, name):
            return True
        answers: set[bool | None] = set() if self.mro(symbol).known else {None}
        for one in self.line(symbol):
            node = self.node(one)
            if node and any(attribute.attr == name for attribute in _assigned_attributes(node)):
                return True
            if _ANSWERING & self.members(one):
                answers.add(None)
        if None not in answers:
            answers.update(self.foreign(one, name) for one in self.line(symbol))
        return _any(answers)

    def foreign(self, symbol: Symbol, name: str) -> bool | None:
        """Return whether a direct base from outside the tree has a member; None if a base is unknown."""
        bases = self.bases(symbol)
        answers: set[bool | None] = {name in dir(object)}
        if not bases.known:
            answers.add(None)
        answers.update(external_has(base, name) for base in bases.external)
        return _any(answers)

    def outside(self, symbol: Symbol) -> set[str]:
        """Return the dotted names of the bases from outside the tree, those of the class's bases included."""
        found: set[str] = set()
        for one in self.line(symbol):
            found.update(self.bases(one).external)
        return found

    def closed_kind(self, symbol: Symbol) -> str:
        """Return what makes a class of its own kind; an empty text for ordinary classes.

        It is ``Interface``, ``NamedTuple``, ``Protocol`` or ``TypedDict``. Heirs of a NamedTuple or a Protocol are
        ordinary classes, heirs of an Interface or a TypedDict are not.
        """
        if self.resolver.inheritance.is_typed_dict(symbol):
            return "TypedDict"
        if _INTERFACE in self.outside(symbol):
            return "Interface"
        leaves = {base.rpartition(".")[2] for base in self.bases(symbol).external}
        return "NamedTuple" if "NamedTuple" in leaves else "Protocol" if "Protocol" in leaves else ""

    def heirs(self, symbol: Symbol) -> Iterator[Symbol]:
        """Yield the subclasses of a class; reading every module for them is slow."""
        pending, known = {symbol}, {symbol}
        while pending:
            words = self._aliases({one.name.rpartition(".")[2].encode() for one in pending})
            header = re.compile(_HEADER % b"|".join(map(re.escape, sorted(words))))
            deriving: set[Symbol] = set()
            for path, content in self._mentioning(words):
                if header.search(content):
                    deriving.update(self.classes(path))
            pending = {one for one in deriving - known if pending.intersection(self.bases(one).stated)}
            known |= pending
            yield from sorted(pending)

    def _aliases(self, names: set[bytes]) -> set[bytes]:
        """Return names with their aliases, by ``import … as`` or an assignment."""
        found, new = set(names), names
        while new:
            either = b"|".join(map(re.escape, sorted(new)))
            renaming = re.compile(_ALIAS % (either, either), re.MULTILINE)
            aliases: set[bytes] = set()
            for _, content in self._mentioning(new):
                for pair in renaming.findall(content):
                    aliases.update(filter(None, pair))
            new = aliases - found
            found |= new
        return found

    def _mentioning(self, words: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
        """Yield the modules that contain one of some words, each with its content."""
        for path, content in self.texts.items():
            if any(word in content for word in words):
                yield path, content

    def dotted(self, target: Target) -> str:
        """Return the dotted name of what a node stands for; empty if unknown."""
        if isinstance(target, Symbol):
            return f"{self.resolver.modules.name(target.path)}.{target.name}"
        return target or ""

    def names(self, path: str, node: ast.expr) -> set[str]:
        """Return the dotted names that an expression, or its callee, may stand for; if unknown, the name as written."""
        function = called(node)
        found = set(filter(None, map(self.dotted, self.resolver.resolve(path, function))))
        return found or {ast.unparse(function)}

    def resolved_class(self, path: str, node: ast.expr) -> Symbol | None:
        """Return the class that an expression stands for, by any import in its module."""
        for one in self.resolver.anywhere(path, node):
            if isinstance(one, Symbol) and self.resolver.inheritance.is_class(one):
                return one
        return None

    def source(self, path: str, node: ast.expr) -> str | None:
        """Return the definition of the function or class that an expression stands for; None if unknown."""
        for one in self.resolver.anywhere(path, node):
            known = self.definitions(one) if isinstance(one, Symbol) else []
            if known and all(isinstance(each.node, (*FUNCTIONS, ast.ClassDef)) for each in known):
                return "\n".join(ast.unparse(each.node) for each in known)
        return None

    def resolved_module(self, path: str, node: ast.expr) -> str:
        """Return the path of the module that an expression stands for, by any import in its own; empty if unknown."""
        for one in self.resolver.anywhere(path, node):
            if isinstance(one, str) and one in self.resolver.modules.paths:
                return self.resolver.modules.paths[one]
        return ""


def _any(answers: Container[bool | None]) -> bool | None:
    """Return True if one of several answers is; None if none is and one is unknown."""
    return True if True in answers else None if None in answers else False


def _held_otherwise(module: Module) -> Iterator[tuple[str, str]]:
    """Yield the classes of a module, each with what ``for``, ``with``, ``:=`` or ``case`` binds in its body."""
    for owner, scopes in module.outer_scopes.classes.items():
        for scope in scopes:
            for name, bindings in scope.bindings.items():
                if bindings[-1].how in _HELD:
                    yield owner, name


def _only_annotates(definition: Definition) -> bool:
    return isinstance(definition.node, ast.AnnAssign) and definition.node.value is None


def _assigned_attributes(node: ast.AST) -> Iterator[ast.Attribute]:
    """Yield the attributes below a node that are assigned; ``+=`` does not count, since it needs a value first."""
    nodes = nodes_of(node)
    changed = {one.target for one in nodes if isinstance(one, ast.AugAssign)}
    for one in nodes:
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and one not in changed:
            yield one


def class_around(path: str, outer: Iterable[ast.stmt]) -> Symbol | None:
    """Return the class of the method that is, or contains, the innermost function."""
    names: list[str] = []
    for one in outer:
        if not isinstance(one, ast.ClassDef):
            break
        names.append(one.name)
    return Symbol(path, ".".join(names)) if names else None


def enclosing(module: Module) -> dict[ast.AST, tuple[ast.stmt, ...]]:
    """Return, for each node of a module, the functions and classes around it, outermost first."""
    found: dict[ast.AST, tuple[ast.stmt, ...]] = {}
    pending: list[tuple[ast.AST, tuple[ast.stmt, ...]]] = [(module.tree, ())]
    while pending:
        node, around = pending.pop()
        found[node] = around
        inner = (*around, node) if isinstance(node, (*FUNCTIONS, ast.ClassDef)) else around
        pending += [(child, inner) for child in ast.iter_child_nodes(node)]
    return found
