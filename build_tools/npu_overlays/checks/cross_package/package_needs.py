"""Package needs: module → the modules, names, keywords and attributes that it uses of another distribution."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from npu_overlays.checks.cross_package.version_guards import texts, unsure_nodes
from npu_overlays.checks.references import references
from npu_overlays.model.callables import takes
from npu_overlays.model.lazy_exports import has
from npu_overlays.model.lookup import ResolvedSymbol, Upstream
from npu_overlays.model.nodes import nodes_of
from npu_overlays.model.shipped_modules import ShippedModules

_BY_NAME = "import_module"
# They pass keywords on to what they are given first.
_PASSING = frozenset({"partial", "partialmethod"})


@dataclass(frozen=True, kw_only=True)
class PackageNeed:
    """One thing that a module asks of another distribution."""

    # A module or a name of one; a keyword that a function or a class is called with; or something that it gives
    # another value to
    kind: Literal["name", "keyword", "assigned"]
    module: str  # dotted name
    names: tuple[str, ...]  # what of it, one after the other; empty for the module itself
    keyword: str = ""  # likewise
    text: str  # how it is written
    node: ast.AST = field(compare=False, repr=False)  # where

    def holds(self, there: Upstream) -> bool | None:
        """Return whether it is there; None where that cannot be told."""
        modules = there.model.modules
        if self.kind == "name":
            return modules.offers(self.module, self.names[0]) if self.names else modules.exists(self.module)
        owner = self.names if self.kind == "keyword" else self.names[:-1]
        found = _resolved(there, self.module, owner)
        if found is None:
            return None
        return takes(there, found, self.keyword) if self.keyword else _has(there, found, self.names[-1])

    def holds_lazily(self, there: Upstream) -> bool | None:
        """Return whether a name is there as `holds` does, lazy packages followed, which takes long."""
        named = self.kind == "name" and self.names
        return has(there.model.modules, self.module, self.names[0]) if named else self.holds(there)


def _resolved(there: Upstream, module: str, names: tuple[str, ...]) -> ResolvedSymbol | None:
    """Return what names of a module mean one after the other; None where one of them is not known."""
    found = there.named(module, names[0] if names else "")
    if found is None or not names[1:]:
        return found
    inner = there.members(found, names[1:])
    return inner[-1] if len(inner) == len(names) - 1 else None


def needs(there: Upstream, path: str, is_foreign: Callable[[str], bool]) -> Iterator[PackageNeed]:
    """Yield what a module asks of other distributions, except where it counts with that not being there.

    What stands below a test of a version is for another one, perhaps, and is passed over.

    Args:
        there: all that is installed.
        path: of the module.
        is_foreign: says whether a dotted name is another distribution's.
    """
    module, modules = there.module(path), there.model.modules
    if module is None:
        return
    found = [one for one in references(module.tree, modules.name(path), modules) if is_foreign(one.module)]
    if not found and _BY_NAME.encode() not in module.content:
        return
    reader = _Reader(modules, path, module.tree, is_foreign)
    for one in found:
        if one.runs and one.node not in reader.unsure:
            names = (one.name,) if one.name else ()
            yield PackageNeed(kind="name", module=one.module, names=names, text=one.text, node=one.node)
    for node in reader.nodes:
        if node not in reader.unsure:
            yield from reader.of(node)


class _Reader:
    """Reads what a module asks for beside what it imports."""

    def __init__(self, modules: ShippedModules, path: str, tree: ast.Module, is_foreign: Callable[[str], bool]) -> None:
        self._is_foreign = is_foreign
        self.nodes = nodes_of(tree)
        self.unsure = unsure_nodes(tree)
        name = modules.name(path)
        self._imported = modules.sole_imports(name, self.nodes, self.unsure, lambda one: is_foreign(one.module))
        self._texts = texts(tree)
        stored = (node for node in self.nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
        # What it exchanges takes what its own function does.
        self._given = set(map(self._meant, stored))

    def of(self, node: ast.AST) -> Iterator[PackageNeed]:
        """Yield what one node asks for."""
        if isinstance(node, ast.Call):
            if module := self._dynamic(node):
                yield PackageNeed(kind="name", module=module, names=(), text=ast.unparse(node), node=node)
            yield from self._keywords(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if (meant := self._meant(node)) and meant[1]:
                text = f"{ast.unparse(node)} = …"
                yield PackageNeed(kind="assigned", module=meant[0], names=meant[1], text=text, node=node)
        elif isinstance(node, ast.Attribute) and (module := self._dynamic(node.value)):
            yield PackageNeed(kind="name", module=module, names=(node.attr,), text=ast.unparse(node), node=node)

    def _keywords(self, call: ast.Call) -> Iterator[PackageNeed]:
        called = _called(call)
        meant = self._meant(called)
        for name in (one.arg for one in call.keywords) if meant and meant[1] and meant not in self._given else ():
            if meant and name:
                text = f"{ast.unparse(called)}({name}=…)"
                yield PackageNeed(kind="keyword", module=meant[0], names=meant[1], keyword=name, text=text, node=call)

    def _dynamic(self, node: ast.AST) -> str:
        """Return the foreign module that ``importlib.import_module("…")`` gives; empty for anything else."""
        named = node.func if isinstance(node, ast.Call) else None
        leaf = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")
        if not isinstance(node, ast.Call) or leaf != _BY_NAME or len(node.args) != 1:
            return ""
        given = node.args[0]
        text = given.value if isinstance(given, ast.Constant) else self._texts.get(getattr(given, "id", ""), "")
        return text if isinstance(text, str) and self._is_foreign(text) else ""

    def _meant(self, node: ast.expr) -> tuple[str, tuple[str, ...]] | None:
        """Return the foreign module that an expression leads to by what is imported, and the names behind it."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.insert(0, node.attr)
            node = node.value
        if dynamic := self._dynamic(node):
            return dynamic, tuple(names)
        known = self._imported.get(node.id) if isinstance(node, ast.Name) else None
        if known is None:
            return None
        return known.module, (known.name, *names) if known.name else tuple(names)


def _called(call: ast.Call) -> ast.expr:
    """Return what keywords of a call are for: of ``partial(f, …)`` the function."""
    leaf = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return call.args[0] if leaf in _PASSING and call.args else call.func


def _has(there: Upstream, owner: ResolvedSymbol, name: str) -> bool | None:
    """Return whether a module or a class has a name; None where that cannot be told."""
    if not owner.symbol:
        return there.model.modules.offers(there.model.modules.name(owner.path), name)
    if not owner.classes:
        return None
    classes = there.model.classes
    return classes.declares(owner.origin, name) or classes.has(owner.origin, name)
