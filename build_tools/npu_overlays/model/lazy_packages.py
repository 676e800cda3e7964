"""Lazy packages: package that imports on demand → which names it has.

It replaces itself in `sys.modules`, or has a ``__getattr__``. It declares its names twice: for type checkers by
imports, and for Python by ``_import_structure``, by ``define_import_structure``, which collects the ``__all__`` of the
folder's modules, or by a table that ``__getattr__`` reads.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from npu_overlays.model.definitions import bound_name
from npu_overlays.model.scopes import Scopes
from npu_overlays.model.syntax import all_of, elements, is_name, nodes_of, targets, text_of

_IN_ITS_PLACE = re.compile(rb"sys(?<!\wsys)\s*\.\s*modules\s*\[\s*__name__\s*\]\s*=(?!=)")
_ON_DEMAND = re.compile(rb"^def[ \t]+__getattr__[ \t]*\(", re.MULTILINE)
_STRUCTURE = "_import_structure"
_COLLECTING = "define_import_structure"
_ON_REQUEST = "__getattr__"


@dataclass(frozen=True, kw_only=True)
class LazyEntry:
    """One declaration of a name in a lazy package."""

    name: str  # what others import
    level: int  # the dots of where it comes from
    module: str  # what stands behind them
    taken: str  # what it is called there
    node: ast.AST
    text: str  # how it is written, for messages


@dataclass(frozen=True, kw_only=True)
class Lazy:
    """The declarations of a lazy package."""

    entries: tuple[LazyEntry, ...]
    stars: tuple[tuple[int, str], ...]  # what type checkers take with ``*``, as (level, module)
    collecting: tuple[str, ...]  # the packages below it whose modules' lists it has, by dotted name; empty for itself
    tables: tuple[LazyEntry, ...]  # what the tables of its ``__getattr__`` say, in each way in which that may be meant


def lazy_of(tree: ast.Module, scopes: Scopes, content: bytes) -> Lazy:
    """Return the declarations of a lazy package."""
    imports: dict[ast.ImportFrom, None] = {}
    for bindings in scopes.module.bindings.values():
        for one in bindings:
            if one.typing_only and isinstance(one.node, ast.ImportFrom):
                imports[one.node] = None
    entries: list[LazyEntry] = []
    for statement in imports:
        entries += _imported(statement)
    return Lazy(
        entries=(*entries, *_structured(tree)),
        stars=scopes.star_sources(typing_only=True),
        collecting=tuple(_collected(tree)) if _COLLECTING.encode() in content else (),
        tables=tuple(_tabled(tree)) if _ON_DEMAND.search(content) else (),
    )


def looks_lazy(content: bytes) -> bool:
    """Return whether a module may be lazy, by its text alone."""
    # To look for a word first takes a tenth of the time: few modules hold one.
    if b"__name__" in content and _IN_ITS_PLACE.search(content):
        return True
    return b"__getattr__" in content and _ON_DEMAND.search(content) is not None


def _imported(node: ast.ImportFrom) -> Iterator[LazyEntry]:
    source = node.module or ""
    for alias in node.names:
        text = f"from {'.' * node.level}{source} import {alias.name}"
        name = bound_name(node, alias)
        yield LazyEntry(name=name, level=node.level, module=source, taken=alias.name, node=node, text=text)


def _structured(tree: ast.Module) -> Iterator[LazyEntry]:
    """Yield the literal entries of ``_import_structure``."""
    for node in nodes_of(tree):
        for key, value in _pairs(node):
            module = text_of(key)
            for one in elements(value):
                name = text_of(one)
                if module and name:
                    yield LazyEntry(name=name, level=1, module=module, taken=name, node=one, text=_STRUCTURE)


def _tabled(tree: ast.Module) -> Iterator[LazyEntry]:
    """Yield the entries of tables that ``__getattr__`` reads: names by module, or modules by name."""
    read: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == _ON_REQUEST:
            read.update(name.id for name in all_of(node, ast.Name))
    for node in tree.body:
        table = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        if table and any(getattr(one, "id", "") in read for one in targets(node)):
            for key, value in _items(table):
                yield from _of_table(key, value)


def _of_table(key: ast.expr | None, value: ast.expr) -> Iterator[LazyEntry]:
    """Yield the readings of one table entry: ``name: module``, ``name: (module, name)`` or ``module: [names]``."""
    known = text_of(key)
    meanings = [(known, text_of(value), known)]
    if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        texts = list(map(text_of, value.elts))
        for text in texts:
            meanings.append((text, known, text))
        if len(texts) == len(("module", "name")):
            meanings.append((known, texts[0], texts[1]))
    for name, module, taken in meanings:
        bare = module.lstrip(".")
        if not name or not bare or not taken:
            continue
        # A module is named in full, or behind dots, or below the package.
        for level in {len(module) - len(bare), 1}:
            yield LazyEntry(name=name, level=level, module=bare, taken=taken, node=value, text=_ON_REQUEST)


def _pairs(node: ast.AST) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """Yield the modules that a statement or a call adds to the structure, each with its names."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value:
        for target in targets(node):
            if is_name(target, _STRUCTURE):
                yield from _items(node.value)
            elif isinstance(target, ast.Subscript) and is_name(target.value, _STRUCTURE):
                yield target.slice, node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        match node.func.value:
            case ast.Name(id=name) if name == _STRUCTURE and node.func.attr == "update":
                for one in node.args:
                    yield from _items(one)
            # `[module].append(…)`, and `.setdefault(module, []).append(…)`
            case (
                ast.Subscript(value=ast.Name(id=name), slice=key)
                | ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=[key, *_])
            ) if name == _STRUCTURE:
                for one in node.args:
                    yield key, one


def _items(value: ast.expr) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """Yield the items of a literal dictionary, ``{…}`` or ``dict(…)``."""
    if isinstance(value, ast.Dict):
        yield from zip(value.keys, value.values, strict=True)
    elif isinstance(value, ast.Call) and is_name(value.func, "dict"):
        for one in value.keywords:
            yield ast.Constant(one.arg), one.value


def _collected(tree: ast.Module) -> Iterator[str]:
    """Yield the packages, relative to this one, whose modules' lists it collects."""
    assignments = all_of(tree, ast.Assign)
    placing = [node for node in assignments if "sys.modules[__name__]" in map(ast.unparse, node.targets)]
    named: set[str] = set()
    for node in placing:
        named.update(name.id for name in all_of(node, ast.Name))
    # What is placed may have been given a name first.
    kept: list[ast.Assign] = []
    for node in assignments:
        if any(getattr(one, "id", "") in named for one in node.targets):
            kept.append(node)
    for node in (*placing, *kept):
        for call in all_of(node, ast.Call):
            if is_name(call.func, _COLLECTING):
                yield from _prefixes(call)


def _prefixes(call: ast.Call) -> Iterator[str]:
    """Yield the packages that a call collects, relative to this one; a folder that is no literal is unknown."""
    prefixes = [one.value for one in call.keywords if one.arg == "prefix"] or call.args[1:2]
    if not prefixes:
        yield ""
    yield from filter(None, map(text_of, prefixes))
