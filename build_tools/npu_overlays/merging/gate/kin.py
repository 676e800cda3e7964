"""Kin: the classes of one tree → what they are to one another, in whichever of its modules they stand."""

from __future__ import annotations

import ast
import builtins
import collections
import collections.abc
import enum
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from npu_overlays.merging.gate.lineage import Lineage, Place
from npu_overlays.merging.gate.shipped import Shipped, absolute
from npu_overlays.syntax.aliases import full_names
from npu_overlays.syntax.definitions import FUNCTIONS, bound_name
from npu_overlays.syntax.functions import first_parameter
from npu_overlays.syntax.nodes import nodes_of
from npu_overlays.syntax.symbols import Module

# Of other distributions' classes these hold nothing that upstream's code asks for by name, and say nothing of how
# a class is called.
BARE = frozenset({"object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol"})
_KNOWN = {"": builtins, "enum": enum, "collections": collections, "collections.abc": collections.abc}
_ANSWERING = frozenset({"__getattr__", "__getattribute__"})


class Kin:
    """The classes of one tree, upstream's or the patched one.

    Args:
        shipped: the modules of the tree.
    """

    def __init__(self, shipped: Shipped) -> None:
        self.shipped = shipped
        self.lineage = Lineage(shipped)
        self._lines: dict[Place, tuple[Place, ...]] = {}
        self._members: dict[str, dict[str, tuple[frozenset[str], frozenset[str]]]] = {}
        self._imports: dict[str, dict[str, set[str]]] = {}

    @cached_property
    def texts(self) -> dict[str, bytes]:
        """The content of every module of Python by path."""
        paths = (path for path in sorted(self.shipped.modules.values()) if path.endswith(".py"))
        return {path: self.shipped.read(path) for path in paths}

    def line(self, place: Place) -> tuple[Place, ...]:
        """Return a class and those of its bases that are of this tree, in the order in which Python asks them."""
        if place not in self._lines:
            self._lines[place] = (place,)  # for a class that is, by mistake, its own base
            bases = list(self.lineage.bases(place))
            self._lines[place] = (place, *_merged([[*self.line(base)] for base in bases] + [bases]))
        return self._lines[place]

    def members(self, place: Place) -> frozenset[str]:
        """Return the names that a class's own body binds, or its module by ``Class.name = …``.

        What is annotated and given no value is bound where something may make a field of it.
        """
        bound, declared = self._names(place)
        return bound | declared if declared and self._makes_fields(place) else bound

    def declares(self, place: Place, name: str) -> bool:
        """Return whether a class, or a base of this tree, annotates a name and gives it no value."""
        return any(name in self._names(one)[1] for one in self.line(place))

    def _names(self, place: Place) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names that a class's own body binds, and those that it annotates only."""
        path, symbol = place
        if path not in self._members:
            module = self.lineage.module(path)
            found: dict[str, tuple[set[str], set[str]]] = {}
            for name, known in module.definitions.items() if module else ():
                owner, _, leaf = name.rpartition(".")
                bare = all(isinstance(one.node, ast.AnnAssign) and one.node.value is None for one in known)
                found.setdefault(owner, (set(), set()))[bare].add(leaf)
            self._members[path] = {owner: (frozenset(a), frozenset(b)) for owner, (a, b) in found.items()}
        return self._members[path].get(symbol, (frozenset(), frozenset()))

    def _makes_fields(self, place: Place) -> bool:
        """Return whether a decorator, a metaclass or a base from elsewhere may make fields of annotations."""
        nodes = {one: self.lineage.node(one) for one in self.line(place)}
        return any(
            node is None or node.decorator_list or node.keywords or self.foreign(one, "") is None
            for one, node in nodes.items()
        )

    def gives(self, place: Place) -> dict[str, set[str]]:
        """Return what a class itself gives its objects, each name with the methods that set it on them."""
        found: dict[str, set[str]] = {name: set() for name in self.members(place)}
        node = self.lineage.node(place)
        for method in (one for one in (node.body if node else ()) if isinstance(one, FUNCTIONS)):
            own = first_parameter(method)
            for one in _given(method) if own else ():
                if ast.unparse(one.value) == own:
                    found.setdefault(one.attr, set()).add(method.name)
        return found

    def owner(self, place: Place, name: str) -> Place | None:
        """Return the first class of a line that has a member."""
        return next((one for one in self.line(place) if name in self.members(one)), None)

    def has(self, place: Place, name: str) -> bool | None:
        """Return whether the objects of a class have an attribute; None where that cannot be told."""
        if self.owner(place, name) or any(name in self._set(one) for one in self.line(place)):
            return True
        if any(_ANSWERING & self.members(one) for one in self.line(place)):
            return None
        found = [self.foreign(one, name) for one in self.line(place)]
        return True if True in found else None if None in found else False

    def foreign(self, place: Place, name: str) -> bool | None:
        """Return whether a direct base of a class that is none of this tree has a member; None for one not known."""
        node, module = self.lineage.node(place), self.lineage.module(place[0])
        answers: list[bool | None] = [name in dir(object)]
        for base in node.bases if node and module else ():
            if not self.lineage.meant(place[0], base) and module:
                known = [_builtin(one, name) for one in full_names(module, base)]
                answers += known or [None]
        return True if True in answers else None if None in answers else False

    def _set(self, place: Place) -> set[str]:
        """Return the attributes that methods of a class set on anything."""
        node = self.lineage.node(place)
        return {one.attr for one in _given(node)} if node else set()

    def heirs(self, place: Place) -> Iterator[Place]:
        """Yield the classes that derive from a class; looking at all modules takes long."""
        pending, known = {place}, {place}
        while pending:
            words = set(_called(self.texts.values(), {one[1].rpartition(".")[2].encode() for one in pending}))
            word = re.compile(rb"\b(?:%s)\b" % b"|".join(map(re.escape, sorted(words))))
            mentioning = (path for path, content in self.texts.items() if word.search(content))
            classes = {one for path in mentioning for one in self.lineage.classes(path)}
            pending = {one for one in classes - known if pending.intersection(self.lineage.bases(one))}
            known |= pending
            yield from sorted(pending)

    def meant(self, path: str, node: ast.expr) -> Place | None:
        """Return the class that an expression anywhere in a module stands for, by what is imported anywhere in it."""
        if found := self.lineage.meant(path, node):
            return found
        root, _, rest = ast.unparse(node).partition(".")
        for name in sorted(self._imported(path).get(root, ())):
            full = f"{name}.{rest}" if rest else name
            if found := self.lineage.imported(path, full):
                return found
        return None

    def text(self, path: str, node: ast.expr) -> str | None:
        """Return what defines the function or class that an expression in a module stands for; None where not known."""
        root, _, rest = ast.unparse(node).partition(".")
        names = sorted(self._imported(path).get(root, ()))
        full = [(path, ast.unparse(node)), *(self._split(f"{name}.{rest}" if rest else name) for name in names)]
        for home, symbol in full:
            module = self.lineage.module(home)
            known = [one.node for one in module.definitions.get(symbol, [])] if module else []
            if known and all(isinstance(one, (*FUNCTIONS, ast.ClassDef)) for one in known):
                return "\n".join(map(ast.unparse, known))
        return None

    def _split(self, name: str) -> tuple[str, str]:
        """Return the path of the module in which a dotted name lies, and what is behind that."""
        home, _, leaf = name.rpartition(".")
        while home and home not in self.shipped.modules:
            home, _, inner = home.rpartition(".")
            leaf = f"{inner}.{leaf}"
        return self.shipped.modules.get(home, ""), leaf

    def meant_module(self, path: str, node: ast.expr) -> str:
        """Return the path of the module that an expression anywhere in a module stands for, or an empty text."""
        root, _, rest = ast.unparse(node).partition(".")
        for name in sorted(self._imported(path).get(root, ())):
            full = f"{name}.{rest}" if rest else name
            if full in self.shipped.modules:
                return self.shipped.modules[full]
        return ""

    def _imported(self, path: str) -> dict[str, set[str]]:
        """Return by local name what a module imports at its own level and in functions, as absolute dotted names."""
        if path not in self._imports:
            found: dict[str, set[str]] = {}
            module = self.lineage.module(path)
            own = next((name for name, one in self.shipped.modules.items() if one == path), "")
            for node in ast.walk(module.tree) if module else ():
                for local, name in _imports_of(node, own, package=self.shipped.is_package(own)):
                    found.setdefault(local, set()).add(name)
            self._imports[path] = found
        return self._imports[path]


def _given(node: ast.AST) -> Iterator[ast.Attribute]:
    """Yield the attributes below a node that are given a value; what ``+=`` changes must have one."""
    nodes = nodes_of(node)
    changed = {one.target for one in nodes if isinstance(one, ast.AugAssign)}
    for one in nodes:
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and one not in changed:
            yield one


def _imports_of(node: ast.AST, own: str, *, package: bool) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield bound_name(node, alias), alias.name if alias.asname else alias.name.partition(".")[0]
    elif isinstance(node, ast.ImportFrom):
        home = absolute(own, node.level, node.module or "", package=package)
        yield from ((bound_name(node, alias), f"{home}.{alias.name}") for alias in node.names)


def _merged(lines: list[list[Place]]) -> Iterator[Place]:
    """Yield what Python makes of the lines of several bases; where it would refuse them, the first ones first."""
    while lines := [line for line in lines if line]:
        behind = [one for line in lines for one in line[1:]]
        first = next((line[0] for line in lines if line[0] not in behind), lines[0][0])
        yield first
        lines = [[one for one in line if one != first] for line in lines]


def _builtin(full: str, name: str) -> bool | None:
    if full in BARE:
        return False
    home, _, leaf = full.rpartition(".")
    known = getattr(_KNOWN.get(home), leaf, None)
    return hasattr(known, name) if isinstance(known, type) else None


def _called(texts: Iterable[bytes], names: set[bytes]) -> Iterator[bytes]:
    """Yield names and what else they may be called, by ``import … as`` or an assignment."""
    either = b"|".join(map(re.escape, sorted(names)))
    patterns = (rb"\b(?:%s)\s+as\s+(\w+)", rb"^(\w+)\s*=\s*(?:[\w.]+\.)?(?:%s)\s*$")
    otherwise = re.compile(b"|".join(pattern % either for pattern in patterns), re.MULTILINE)
    yield from names
    for content in texts:
        yield from (one for found in otherwise.findall(content) for one in found if one)


def class_around(path: str, outer: Iterable[ast.stmt]) -> Place | None:
    """Return the class whose method the innermost function is, or lies in."""
    names: list[str] = []
    for one in outer:
        if not isinstance(one, ast.ClassDef):
            break
        names.append(one.name)
    return (path, ".".join(names)) if names else None


def enclosing(module: Module) -> dict[ast.AST, tuple[ast.stmt, ...]]:
    """Return by node of a module the functions and classes around it, outermost first."""
    found: dict[ast.AST, tuple[ast.stmt, ...]] = {}
    pending: list[tuple[ast.AST, tuple[ast.stmt, ...]]] = [(module.tree, ())]
    while pending:
        node, around = pending.pop()
        found[node] = around
        inner = (*around, node) if isinstance(node, (*FUNCTIONS, ast.ClassDef)) else around
        pending += [(child, inner) for child in ast.iter_child_nodes(node)]
    return found
