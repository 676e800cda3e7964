"""Upstream: tree and pin → what a dotted name stands for in it, whichever module it is imported from."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from npu_overlays.errors import MergeError
from npu_overlays.merging.gate.kin import Kin
from npu_overlays.merging.gate.shipped import Shipped, Sources, absolute, module_name
from npu_overlays.pin import Pin
from npu_overlays.reads.chains import chains
from npu_overlays.reads.settings import Value, settings
from npu_overlays.syntax.definitions import Definition, bound_name
from npu_overlays.syntax.surface import may_import_all
from npu_overlays.syntax.symbols import Module
from npu_overlays.tree import SourceTree

_FAR = 8


@dataclass(frozen=True, kw_only=True)
class Found:
    """A symbol of upstream's.

    Args:
        path: repository path.
        symbol: qualified name; empty for a module.
        home: path of the module in which it is written: of an inherited member, the base's.
        nodes: its definitions, more than one where it is defined in branches.
        values: of what is assigned, what may give it its value.
    """

    path: str
    symbol: str
    home: str
    nodes: tuple[ast.stmt, ...] = ()
    values: tuple[Value, ...] = ()

    @property
    def classes(self) -> list[ast.ClassDef]:
        """Its definitions as classes."""
        return [node for node in self.nodes if isinstance(node, ast.ClassDef)]


class Upstream:
    """The shipped modules of an upstream tree; each is read once, when it is asked for.

    Args:
        pin: says which those are.
        tree: the tree.
        absent: paths that the pin has and the tree lacks; nothing is known of them.
    """

    def __init__(self, pin: Pin, tree: SourceTree, absent: frozenset[str] = frozenset()) -> None:
        self.absent = absent
        places = {place: path for path in tree.entries if (place := pin.place(path))}
        self._pin, self._tree = pin, tree
        unseen = filter(None, map(pin.place, absent))
        self.shipped = Shipped(places, [home for _, home in pin.homes], tree.read, Sources(), unseen)
        self._modules: dict[str, Module | None] = {}
        self._set: dict[tuple[str, str], dict[str, list[Value]]] = {}
        self._open: set[tuple[str, str]] = set()

    @cached_property
    def kin(self) -> Kin:
        """Its classes."""
        return Kin(self.shipped)

    def module(self, path: str) -> Module | None:
        """Return a module; None where there is none, or this Python cannot parse it."""
        if path not in self._modules:
            try:
                known = path in self._tree and path.endswith(".py")
                self._modules[path] = Module(path, self._tree.read(path)) if known else None
            except MergeError:
                self._modules[path] = None
        return self._modules[path]

    def find(self, path: str, symbol: str) -> Found | None:
        """Return what a module calls by a qualified name, wherever it is written; None where there is none."""
        names = symbol.split(".")
        found = self.chain(path, names)
        return found[-1] if len(found) == len(names) and found[-1].symbol else None

    def named(self, module: str, name: str) -> Found | None:
        """Return what an import of a name from a module, or with no name of the module itself, brings of upstream's."""
        return self._of_module(module, name, _FAR) if name else self._module_named(module)

    def chain(self, path: str, names: Sequence[str]) -> list[Found]:
        """Return what the names of ``a.b.c``, read in a module, mean one after the other, as far as is known."""
        first = self._global(path, names[0], _FAR)
        return [] if first is None else [first, *self.members(first, names[1:])]

    def members(self, owner: Found, names: Sequence[str]) -> list[Found]:
        """Return what the names behind a module or a class mean one after the other, as far as is known."""
        found: list[Found] = []
        for name in names:
            inner = self.member(owner, name)
            if inner is None:
                break
            found.append(inner)
            owner = inner
        return found

    def member(self, owner: Found, name: str) -> Found | None:
        """Return a name of a module, or a member of a class: its own, a base's, or what a method gives to ``self``."""
        if not owner.symbol:
            return self._of_module(module_name(self._pin.place(owner.path)), name, _FAR)
        for one in self._family(owner) if owner.classes else ():
            module = self.module(one.home)
            known = module.definitions.get(f"{one.symbol}.{name}", []) if module else []
            values = [*_values(known), *self._settings(one).get(name, [])]
            if known or values:
                nodes = tuple(entry.node for entry in known)
                symbol = f"{owner.symbol}.{name}"
                return Found(path=owner.path, symbol=symbol, home=one.home, nodes=nodes, values=tuple(values))
        return None

    def inherited(self, owner: Found, name: str) -> Found | None:
        """Return what ``super()`` of a class calls by a name, as a member of the base that has it."""
        return next(filter(None, (self.member(base, name) for base in self._bases(owner))), None)

    def _family(self, owner: Found) -> Iterator[Found]:
        """Yield a class and its bases, each as it is written."""
        pending, seen = [owner], set()
        while pending:
            one = pending.pop(0)
            if (one.home, one.symbol) not in seen:
                seen.add((one.home, one.symbol))
                yield one
                pending += self._bases(one)

    def _bases(self, one: Found) -> list[Found]:
        """Return the bases of a class; none of one whose bases are being looked for, as of ``class A(A.Base)``."""
        key = (one.home, one.symbol)
        if key in self._open:
            return []
        self._open.add(key)
        bases = [base for node in one.classes for base in node.bases]
        found = [self.chain(one.home, names)[-1:] for names, _ in chains(*bases)]
        self._open.remove(key)
        return [base for listed in found for base in listed if base.classes]

    def _settings(self, owner: Found) -> dict[str, list[Value]]:
        """Return what the methods of a class give to ``self``, by name."""
        key = (owner.home, owner.symbol)
        if key not in self._set:
            self._set[key] = settings(owner.classes)
        return self._set[key]

    def _module_named(self, name: str) -> Found | None:
        path = self.shipped.modules.get(name, "")
        return Found(path=path, symbol="", home=path) if path.endswith(".py") else None

    def _of_module(self, module: str, name: str, far: int) -> Found | None:
        path = self.shipped.modules.get(module, "")
        found = self._global(path, name, far) if path.endswith(".py") else None
        return found or self._module_named(f"{module}.{name}")

    def _global(self, path: str, name: str, far: int) -> Found | None:
        module = self.module(path)
        if module is None or not far:
            return None
        known = module.definitions.get(name, [])
        own = [one for one in known if one.kind != "import"]
        if own:
            nodes = tuple(one.node for one in own)
            return Found(path=path, symbol=name, home=path, nodes=nodes, values=tuple(_values(own)))
        found = (self._through(path, one, far) for one in known)
        return next(filter(None, found), None) or self._by_star(path, module, name, far)

    def _through(self, path: str, definition: Definition, far: int) -> Found | None:
        """Return what an import brings that stands in one of upstream's modules."""
        node = definition.node
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            return None
        alias = next(one for one in node.names if bound_name(node, one) == definition.name)
        if isinstance(node, ast.ImportFrom):
            return self._of_module(self._source(path, node), alias.name, far - 1)
        return self._module_named(alias.name if alias.asname else definition.name)

    def _source(self, path: str, node: ast.ImportFrom) -> str:
        """Return the dotted name of the module from which one at some path imports."""
        own = module_name(self._pin.place(path))
        return absolute(own, node.level, node.module or "", package=self.shipped.is_package(own))

    def _by_star(self, path: str, module: Module, name: str, far: int) -> Found | None:
        for star in module.scopes.stars if not name.startswith("_") else ():
            if isinstance(star.node, ast.ImportFrom):
                inner = self.shipped.modules.get(self._source(path, star.node), "")
                known = inner != path and inner.endswith(".py") and self._may_bring(inner, name)
                if known and (found := self._global(inner, name, far - 1)):
                    return found
        return None

    def _may_bring(self, path: str, name: str) -> bool:
        """Return whether a module may have a name: packages of packages import hundreds, which take long to parse."""
        content = self._tree.read(path)
        return name.encode() in content or may_import_all(content)


def _values(definitions: Iterable[Definition]) -> Iterator[Value]:
    for one in definitions:
        value = getattr(one.node, "value", None)
        if isinstance(value, ast.expr):
            yield Value(node=value)
