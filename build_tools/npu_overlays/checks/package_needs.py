"""Package needs: module → the modules, names, keywords and attributes that it uses of another distribution."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from npu_overlays.checks.references import guarded_parts, references
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.exports import unevaluated
from npu_overlays.model.lazy_exports import has
from npu_overlays.model.module import Module
from npu_overlays.model.shipped_modules import ShippedModules
from npu_overlays.model.symbol_lookup import ResolvedSymbol, SymbolLookup
from npu_overlays.model.syntax import all_of, last_name, nodes_of

_BY_NAME = "import_module"
# They pass keywords on to their first argument.
_PASSING = frozenset({"partial", "partialmethod"})
# What asks whether something is there; `getattr` mostly asks a configuration.
_ASKING = frozenset({"hasattr", "find_spec"})
_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError"})
_LEAVING = (ast.Return, ast.Raise)
# How often a condition may be called by another name: `NEW = version > 5`, `BOTH = NEW and OTHER`.
_RENAMES = 3


@dataclass(frozen=True, kw_only=True)
class PackageNeed:
    """One thing that a module uses of another distribution."""

    # A module or a name of one; a keyword of a call; something that the module gives another value to
    kind: Literal["name", "keyword", "assigned"]
    module: str  # dotted name
    names: tuple[str, ...]  # what of it, one after the other; empty for the module itself
    keyword: str = ""
    text: str  # how it is written
    node: ast.AST = field(compare=False, repr=False)

    def holds(self, there: SymbolLookup) -> bool | None:
        """Return whether it exists; None if unknown."""
        modules = there.modules
        if self.kind == "name":
            return modules.offers(self.module, self.names[0]) if self.names else modules.exists(self.module)
        owner = _resolved(there, self.module, self.names if self.kind == "keyword" else self.names[:-1])
        if owner is None:
            return None
        if self.keyword:
            return there.takes(owner, self.keyword)
        name = self.names[-1]
        if not owner.symbol:
            return modules.offers(modules.name(owner.path), name)
        if not owner.classes:
            return None
        classes = there.classes
        return classes.declares(owner.origin, name) or classes.has(owner.origin, name)

    def holds_lazily(self, there: SymbolLookup) -> bool | None:
        """Return whether a name exists, like `holds`, with lazy packages followed, which is slow."""
        named = self.kind == "name" and self.names
        return has(there.modules, self.module, self.names[0]) if named else self.holds(there)


def _resolved(there: SymbolLookup, module: str, names: tuple[str, ...]) -> ResolvedSymbol | None:
    """Return what each name of a chain in a module stands for; None if one is unknown."""
    found = there.named(module, names[0] if names else "")
    if found is None or not names[1:]:
        return found
    inner = there.members(found, names[1:])
    return inner[-1] if len(inner) == len(names) - 1 else None


def package_needs(there: SymbolLookup, path: str, is_foreign: Callable[[str], bool]) -> Iterator[PackageNeed]:
    """Yield what a module uses of other distributions, except in code that expects its absence.

    Code below a test of a version may be for another one, and is skipped.

    Args:
        there: everything that is installed.
        path: of the module.
        is_foreign: returns whether a dotted name is another distribution's.
    """
    module, modules = there.module(path), there.modules
    if module is None:
        return
    found = [one for one in references(module.parsed, modules.name(path), modules) if is_foreign(one.module)]
    if not found and _BY_NAME.encode() not in module.content:
        return
    reader = _Reader(modules, path, module, is_foreign)
    for one in found:
        if one.runs and one.node not in reader.unsure:
            names = (one.name,) if one.name else ()
            yield PackageNeed(kind="name", module=one.module, names=names, text=one.text, node=one.node)
    for node in reader.nodes:
        if node not in reader.unsure:
            yield from reader.needs(node)


class _Reader:
    """Reads a module's uses of other distributions, imports excepted."""

    def __init__(self, modules: ShippedModules, path: str, module: Module, is_foreign: Callable[[str], bool]) -> None:
        self._is_foreign = is_foreign
        self.nodes = module.nodes
        self.unsure = _unsure_nodes(module.nodes)
        name = modules.name(path)
        self._imported = modules.sole_imports(name, module.parsed, self.unsure, lambda one: is_foreign(one.module))
        self._texts = _texts(module.tree)
        stored = (node for node in self.nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
        # A function that the module exchanges takes what its own does.
        self._exchanged = set(map(self._meant, stored))

    def needs(self, node: ast.AST) -> Iterator[PackageNeed]:
        """Yield the needs of one node."""
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
        # Keywords of ``partial(f, …)`` are the function's.
        called = call.args[0] if last_name(call.func) in _PASSING and call.args else call.func
        meant = self._meant(called)
        if not meant or not meant[1] or meant in self._exchanged:
            return
        module, names = meant
        for keyword in filter(None, (one.arg for one in call.keywords)):
            text = f"{ast.unparse(called)}({keyword}=…)"
            yield PackageNeed(kind="keyword", module=module, names=names, keyword=keyword, text=text, node=call)

    def _dynamic(self, node: ast.AST) -> str:
        """Return the external module of ``importlib.import_module("…")``; empty for anything else."""
        if not isinstance(node, ast.Call) or last_name(node.func) != _BY_NAME or len(node.args) != 1:
            return ""
        given = node.args[0]
        text = given.value if isinstance(given, ast.Constant) else self._texts.get(getattr(given, "id", ""), "")
        return text if isinstance(text, str) and self._is_foreign(text) else ""

    def _meant(self, node: ast.expr) -> tuple[str, tuple[str, ...]] | None:
        """Return the external module that an expression refers to by imports, and the further names of its chain."""
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


def _texts(tree: ast.Module) -> dict[str, str]:
    """Return the string constants of a module's names that are assigned once."""
    found: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for one in node.targets:
                if isinstance(one, ast.Name):
                    found.setdefault(one.id, []).append(node.value.value)
    return {name: those[0] for name, those in found.items() if len(those) == 1}


def _unsure_nodes(nodes: Sequence[ast.AST]) -> set[ast.AST]:
    """Return every node that expects missing names, is for certain versions only, or does not run."""
    conditions: set[str] = set()
    answers = [node for node in nodes if isinstance(node, ast.Assign) and _is_answer(node.value)]
    for _ in range(_RENAMES):
        named: list[ast.expr] = []
        for answer in answers:
            named += answer.targets if _is_condition(answer.value, conditions) else []
        conditions |= {one.id for one in named if isinstance(one, ast.Name)}
    found = unevaluated(nodes)
    for node in nodes:
        for part in (*guarded_parts(node), *_conditional_parts(node, conditions)):
            found.update(nodes_of(part))
    return found


def _is_answer(value: ast.expr) -> bool:
    """Return whether a value may be the result of such a test, and does not only use one."""
    if isinstance(value, ast.Call):
        return last_name(value.func) in _ASKING or "version" in last_name(value.func).lower()
    return isinstance(value, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Name))


def _is_condition(test: ast.AST, conditions: set[str]) -> bool:
    """Return whether a test is about a version, or about the existence of something."""
    names = {*map(last_name, ast.walk(test))}
    if names & conditions or any("version" in name.lower() for name in names):
        return True
    return any(last_name(one.func) in _ASKING and not _asks_itself(one) for one in all_of(test, ast.Call))


def _asks_itself(call: ast.Call) -> bool:
    """Return whether a test is about an object's own attribute, as ``hasattr(self, …)``, and about no distribution."""
    return bool(call.args) and ast.unparse(call.args[0]).partition(".")[0] in ("self", "cls")


def _conditional_parts(node: ast.AST, conditions: set[str]) -> Iterator[ast.AST]:
    """Yield the parts of a node for another version, or for the absence of something."""
    if isinstance(node, ast.ExceptHandler) and node.type and _MISSING & {*map(last_name, ast.walk(node.type))}:
        yield from node.body
    elif isinstance(node, ast.If) and _is_condition(node.test, conditions):
        yield from (*node.body, *node.orelse)
    elif isinstance(node, ast.IfExp) and _is_condition(node.test, conditions):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.BoolOp):
        for number, value in enumerate(node.values, start=1):
            if _is_condition(value, conditions):
                yield from node.values[number:]
                return
    elif isinstance(node, FUNCTIONS):
        for number, one in enumerate(node.body, start=1):
            if isinstance(one, ast.If) and isinstance(one.body[-1], _LEAVING) and _is_condition(one.test, conditions):
                yield from node.body[number:]
                return
