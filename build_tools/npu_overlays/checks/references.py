"""References: module → the names and modules that it needs of the shipped packages."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from npu_overlays.errors import nearest, suggestion
from npu_overlays.model.exports import typing_block, unevaluated
from npu_overlays.model.parsed_text import ParsedText
from npu_overlays.model.shipped_modules import ShippedModules
from npu_overlays.model.symbols import Imported
from npu_overlays.model.syntax import last_name, nodes_of

# Code that catches one of these expects that the module or the name may be missing.
_EXPECTED = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"})
# What can guard: to ask all the other nodes of a module is slow.
_GUARDS = (ast.Try, ast.With, ast.AsyncWith, ast.If, ast.IfExp, ast.BoolOp)
_SUPPRESSING = frozenset({"suppress", "raises"})
_ASKING = frozenset({"hasattr", "getattr", "find_spec"})


@dataclass(frozen=True, kw_only=True)
class Reference:
    """One place that needs a module, or a name of one."""

    module: str  # its dotted name
    name: str  # what is needed of it; empty for the module itself
    node: ast.AST  # the statement or expression
    text: str  # how it is written, for messages
    runs: bool = True  # whether Python evaluates it, and not only a type checker

    def holds(self, modules: ShippedModules) -> bool | None:
        """Return whether a tree has what is needed; None if unknown."""
        if not self.runs and self.module and self.name in modules.surface(self.module).typing_only:
            return True
        return modules.offers(self.module, self.name) if self.name and self.module else modules.exists(self.module)


def references(
    text: ParsedText, module: str, modules: ShippedModules, nodes: Sequence[ast.AST] | None = None
) -> Iterator[Reference]:
    """Yield what a module needs of the shipped packages, except in code that expects its absence.

    Args:
        text: it, parsed.
        module: its dotted name.
        modules: those of the tree it is part of.
        nodes: the nodes to look at, and every node around one of them; all of the module by default.
    """
    nodes = text.nodes if nodes is None else nodes
    needed: list[Reference] = []
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            named = [_needed(one, node) for one in modules.imported(module, node)]
            needed += [one for one in named if modules.owns(one.module) or not one.module]
    guarded = _guarded(nodes) if needed else set()
    for one in needed:
        if one.node not in guarded:
            yield one
    if attributes := _of_modules(nodes, _shipped_modules(text, module, modules)):
        yield from _attributes(text, module, modules, attributes)


def _guarded(nodes: Iterable[ast.AST]) -> set[ast.AST]:
    """Return the nodes that do not run, or that expect missing names."""
    guarded: set[ast.AST] = set()
    for outer in nodes:
        if isinstance(outer, _GUARDS):
            guarded.update(*map(nodes_of, guarded_parts(outer)))
    return guarded


def _shipped_modules(text: ParsedText, module: str, modules: ShippedModules) -> set[str]:
    """Return the names by which a module may import shipped modules."""
    found: set[str] = set()
    for node in text.imports:
        found.update(one.local for one in modules.imported(module, node) if _is_module(one, modules))
    return found


def _of_modules(nodes: Iterable[ast.AST], names: Container[str]) -> list[ast.Attribute]:
    """Return the attributes whose chain begins with one of some names."""
    found: list[ast.Attribute] = []
    for node in nodes:
        if isinstance(node, ast.Attribute):
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in names:
                found.append(node)
    return found


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return the name that is most similar to a missing one, as a fix, or an empty text."""
    return suggestion(nearest(name, known), "")


def any_word(words: Iterable[str]) -> re.Pattern[bytes]:
    """Return a pattern that finds one of some words in a text, to avoid parsing."""
    return re.compile(rb"\b(?:%s)\b" % b"|".join(re.escape(word.encode()) for word in sorted(set(words))))


def guarded_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the direct children of a node that do not run, or that expect missing names."""
    if isinstance(node, (ast.Try, ast.With, ast.AsyncWith)):
        handlers = [handler.type for handler in node.handlers] if isinstance(node, ast.Try) else node.items
        caught = any(handler is None or _EXPECTED & _names(handler) for handler in handlers)
        if caught and (isinstance(node, ast.Try) or _names(*node.items) & _SUPPRESSING):
            yield from node.body
    elif isinstance(node, ast.If):
        yield from typing_block(node)
    if isinstance(node, (ast.If, ast.IfExp)) and _ASKING & _names(node.test):
        yield from node.body if isinstance(node, ast.If) else [node.body]
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for number, value in enumerate(node.values, start=1):
            if _ASKING & _names(value):
                yield from node.values[number:]
                return


def _names(*nodes: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        found.update(map(last_name, nodes_of(node)))
    return found


def _needed(one: Imported, node: ast.Import | ast.ImportFrom) -> Reference:
    """Return what an imported name needs."""
    if isinstance(node, ast.Import):
        return Reference(module=one.alias.name, name="", node=node, text=f"import {one.alias.name}")
    text = f"from {'.' * node.level}{node.module or ''} import {one.name}"
    return Reference(module=one.module, name="" if one.name == "*" else one.name, node=node, text=text)


def _attributes(
    text: ParsedText, module: str, modules: ShippedModules, attributes: Sequence[ast.Attribute]
) -> Iterator[Reference]:
    """Yield those attributes ``m.name`` whose `m` is a shipped module everywhere in the module."""
    guarded = _guarded(text.nodes)
    imports = modules.sole_imports(module, text, guarded, lambda one: _is_module(one, modules))
    known = {name: one.full for name, one in imports.items()}
    set_here: set[str] = set()
    for node in text.nodes:
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            set_here.add(node.attr)
    inner = {id(node.value) for node in attributes}
    outermost = (node for node in attributes if id(node) not in inner and node not in guarded)
    found = list(chain.from_iterable(_chain(node, known, modules, set_here) for node in outermost))
    never = unevaluated(text.nodes) if found else set()
    for one in found:
        yield dataclasses.replace(one, runs=one.node not in never)


def _is_module(one: Imported, modules: ShippedModules) -> bool:
    """Return whether an imported name is a shipped module, and not a function named like its module."""
    if not modules.owns(one.full) or not modules.holds(one.full):
        return False
    return not one.name or bool(modules.inner_module(one.module, one.name))


def _chain(
    node: ast.Attribute, known: dict[str, str], modules: ShippedModules, set_here: set[str]
) -> Iterator[Reference]:
    """Yield what ``a.b.c`` needs: the first name in it that is no module."""
    parts: list[ast.Attribute] = []
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        parts.append(root)
        root = root.value
    if not isinstance(root, ast.Name) or root.id not in known:
        return
    module, text = known[root.id], root.id
    for part in reversed(parts):
        text = f"{text}.{part.attr}"
        if inner := modules.inner_module(module, part.attr):
            module = inner
            continue
        if part.attr not in set_here and modules.owns(module):
            yield Reference(module=module, name=part.attr, node=part, text=text)
        return
