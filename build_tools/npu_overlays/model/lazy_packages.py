"""Lazy packages: package that imports on demand → which names it has.

It puts another module in its own place, or has a ``__getattr__``. It says what it has twice: for type checkers by
imports, and for Python by ``_import_structure``, by ``define_import_structure``, which collects what the modules of the
folder list in ``__all__``, or by a table that ``__getattr__`` reads.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from npu_overlays.model.definitions import bound_name
from npu_overlays.model.scopes import Scopes
from npu_overlays.model.syntax import nodes_of

_IN_ITS_PLACE = re.compile(rb"\bsys\s*\.\s*modules\s*\[\s*__name__\s*\]\s*=(?!=)")
_ON_DEMAND = re.compile(rb"^def[ \t]+__getattr__[ \t]*\(", re.MULTILINE)
_STRUCTURE = "_import_structure"
_COLLECTING = "define_import_structure"


@dataclass(frozen=True, kw_only=True)
class LazyEntry:
    """One place where a lazy package says that it has a name.

    Args:
        name: what others import.
        level: the dots of where it comes from.
        module: what stands behind them.
        taken: what it is called there.
        node: the place.
        text: how it is written, for messages.
    """

    name: str
    level: int
    module: str
    taken: str
    node: ast.AST
    text: str


@dataclass(frozen=True, kw_only=True)
class Lazy:
    """What a lazy package says of its names.

    Args:
        entries: name by name.
        stars: what type checkers take with ``*``, as (level, module).
        collecting: the packages below it, as dotted names, of which it has what their modules list; empty for itself.
        tables: what a table says that its ``__getattr__`` reads, in each way in which that may be meant.
    """

    entries: tuple[LazyEntry, ...]
    stars: tuple[tuple[int, str], ...]
    collecting: tuple[str, ...]
    tables: tuple[LazyEntry, ...] = ()


def lazy_of(tree: ast.Module, scopes: Scopes, content: bytes) -> Lazy | None:
    """Return what a lazy package says of its names; None for any other module."""
    if not looks_lazy(content):
        return None
    bindings = (one for known in scopes.module.bindings.values() for one in known if one.typing_only)
    imports = dict.fromkeys(one.node for one in bindings if isinstance(one.node, ast.ImportFrom))
    stars = [star.node for star in scopes.stars if star.typing_only]
    return Lazy(
        entries=(*(entry for node in imports for entry in _imported(node)), *_structured(tree)),
        stars=tuple((node.level, node.module or "") for node in stars if isinstance(node, ast.ImportFrom)),
        collecting=tuple(_collected(tree)) if _COLLECTING.encode() in content else (),
        tables=tuple(_tabled(tree)) if _ON_DEMAND.search(content) else (),
    )


def looks_lazy(content: bytes) -> bool:
    """Return whether a module's text looks as if it put another in its place, or had names only when asked for them."""
    return bool(_IN_ITS_PLACE.search(content) or _ON_DEMAND.search(content))


def _imported(node: ast.ImportFrom) -> Iterator[LazyEntry]:
    source = node.module or ""
    for alias in node.names:
        text = f"from {'.' * node.level}{source} import {alias.name}"
        name = bound_name(node, alias)
        yield LazyEntry(name=name, level=node.level, module=source, taken=alias.name, node=node, text=text)


def _structured(tree: ast.Module) -> Iterator[LazyEntry]:
    """Yield what ``_import_structure`` says in so many words."""
    for key, value in (pair for node in nodes_of(tree) for pair in _pairs(node)):
        names = value.elts if isinstance(value, (ast.List, ast.Tuple, ast.Set)) else [value]
        for node in names if (module := _text(key)) else ():
            if name := _text(node):
                yield LazyEntry(name=name, level=1, module=module, taken=name, node=node, text=_STRUCTURE)


def _tabled(tree: ast.Module) -> Iterator[LazyEntry]:
    """Yield what the tables say that ``__getattr__`` reads: names by module, or of each name its module."""
    asked = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "__getattr__"]
    read = {inner.id for one in asked for inner in nodes_of(one) if isinstance(inner, ast.Name)}
    for node in (one for one in tree.body if isinstance(one, (ast.Assign, ast.AnnAssign))):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value and any(getattr(one, "id", "") in read for one in targets):
            for key, value in _items(node.value):
                yield from _of_table(key, value)


def _of_table(key: ast.expr | None, value: ast.expr) -> Iterator[LazyEntry]:
    """Yield what an entry of a table may say: ``name: module``, ``name: (module, name)`` or ``module: [names]``."""
    texts = [_text(one) for one in value.elts] if isinstance(value, (ast.List, ast.Tuple, ast.Set)) else []
    said = [(_text(key), _text(value), _text(key)), *((one, _text(key), one) for one in texts)]
    said += [(_text(key), texts[0], texts[1])] if len(texts) == len(("module", "name")) else []
    for name, module, taken in said:
        bare = module.lstrip(".")
        # A module is named in full, or behind dots, or below the package.
        for level in {len(module) - len(bare), 1} if name and bare and taken else ():
            yield LazyEntry(name=name, level=level, module=bare, taken=taken, node=value, text="__getattr__")


def _pairs(node: ast.AST) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """Yield the modules that a statement or a call puts into the structure, each with names."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if _is_structure(target) and node.value:
                yield from _items(node.value)
            elif isinstance(target, ast.Subscript) and _is_structure(target.value) and node.value:
                yield target.slice, node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        match node.func.value:
            case within if _is_structure(within) and node.func.attr == "update":
                yield from (pair for one in node.args for pair in _items(one))
            case ast.Subscript(value=within, slice=key) if _is_structure(within):
                yield from ((key, one) for one in node.args)
            # `.setdefault(module, []).append(…)`
            case ast.Call(func=ast.Attribute(value=within), args=[key, *_]) if _is_structure(within):
                yield from ((key, one) for one in node.args)


def _items(value: ast.expr) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """Yield what a dictionary that is written out holds, as ``{…}`` or as ``dict(…)``."""
    if isinstance(value, ast.Dict):
        yield from zip(value.keys, value.values, strict=True)
    elif isinstance(value, ast.Call) and getattr(value.func, "id", "") == "dict":
        yield from ((ast.Constant(one.arg), one.value) for one in value.keywords)


def _is_structure(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == _STRUCTURE


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _collected(tree: ast.Module) -> Iterator[str]:
    """Yield the packages, relative to this one, whose modules' lists are put in the package's place."""
    given = [node for node in nodes_of(tree) if isinstance(node, ast.Assign)]
    placing = [node for node in given if any(ast.unparse(one) == "sys.modules[__name__]" for one in node.targets)]
    named = {one.id for node in placing for one in nodes_of(node) if isinstance(one, ast.Name)}
    kept = [node for node in given if any(getattr(one, "id", "") in named for one in node.targets)]
    for call in (one for node in (*placing, *kept) for one in nodes_of(node) if isinstance(one, ast.Call)):
        if isinstance(call.func, ast.Name) and call.func.id == _COLLECTING:
            prefixes = [one.value for one in call.keywords if one.arg == "prefix"] or call.args[1:2]
            # A folder that is not named by a text is not known.
            yield from filter(None, map(_text, prefixes)) if prefixes else [""]
