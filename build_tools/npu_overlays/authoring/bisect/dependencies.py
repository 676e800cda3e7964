"""Dependencies: the units of an overlay → which of them cannot run without which others."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from npu_overlays.authoring.checkout.units import Item, Unit
from npu_overlays.model.code_blocks import dedented, names_in
from npu_overlays.model.imports import imported
from npu_overlays.model.shipped_modules import is_package_file, module_name
from npu_overlays.model.tokens import significant
from npu_overlays.overlay.layer_content import OverlayFile
from npu_overlays.overlay.operations import Operation
from npu_overlays.sources.pin import Pin

# The names that one thing may have, the most telling one first: dotted ones from the module on, ``.member`` of an
# attribute whose object is not known, and ``member=`` of what may be a field that a call fills.
_Read: TypeAlias = tuple[str, ...]
_OWN = ("self", "cls")


def needed(units: Sequence[Unit], pin: Pin) -> dict[int, frozenset[int]]:
    """Return for each unit, by its number, those it cannot run without, itself among them.

    Those are the added files that it imports, and the names and attributes it reads that others add, as far as the text
    shows. Of most attributes it shows only the name, and not the object.
    """
    providers: dict[str, set[int]] = {}
    for number, unit in enumerate(units):
        for item in unit.items:
            for name in _added(item, unit, pin):
                providers.setdefault(name, set()).add(number)
    direct: dict[int, set[int]] = {}
    for number, unit in enumerate(units):
        direct[number] = {number}
        for item in unit.items:
            for read in _reads(item, pin):
                # Of the names that one thing may have, the first that anything adds is meant.
                direct[number] |= next((providers[name] for name in read if name in providers), set())
    return {number: _reached(number, direct) for number in direct}


def _reached(start: int, direct: Mapping[int, set[int]]) -> frozenset[int]:
    found: set[int] = set()
    waiting = [start]
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += direct[number]
    return frozenset(found)


def _added(item: Item, unit: Unit, pin: Pin) -> Iterator[str]:
    """Yield the names by which something that is added is read: its full one, and of a member its own."""
    if isinstance(item, OverlayFile) and unit.action == "file":
        yield module_name(pin.place(item.path))
    elif isinstance(item, Operation) and item.action == "added":
        yield f"{module_name(pin.place(item.path))}.{item.name}"
        if item.owner:
            yield f".{item.leaf}"
        if item.owner and item.kind == "attribute":
            yield f"{item.leaf}="


def _reads(item: Item, pin: Pin) -> Iterator[_Read]:
    """Yield what an operation or a Python file reads."""
    if isinstance(item, Operation):
        texts = [one.statement for one in item.imports]
        texts.append(item.text)
        texts += [edit.replace for edit in item.edits]
        yield from _read_by(texts, pin.place(item.path), item.owner)
    elif isinstance(item, OverlayFile) and item.path.endswith(".py"):
        yield from _read_by([item.content.decode("utf-8", "replace")], pin.place(item.path), "")


def _read_by(texts: Sequence[str], place: str, owner: str) -> Iterator[_Read]:
    """Yield what pieces of code at a place read, in a class where `owner` names one; what one imports, all name."""
    module, is_package = module_name(place), is_package_file(place)
    nodes: list[ast.AST] = []
    for text in texts:
        parsed = _nodes(text)
        nodes += parsed
        for name in names_in(text):
            yield (f"{module}.{name}",)
        if not parsed:
            for name in _behind_dots(text):
                yield (f".{name}",)
    bound: dict[str, str] = {}
    for node in nodes:
        for one in imported(node, module, package=is_package):
            # An import of a module imports its package, too.
            whole = one.module if one.name else one.alias.name
            bound |= {whole: whole, one.local: one.full}
    for full in bound.values():
        yield (full,)
    if owner:
        bound |= dict.fromkeys(_OWN, f"{module}.{owner}")
    for node in nodes:
        yield from _read_at(node, module, bound)


def _nodes(text: str) -> list[ast.AST]:
    """Return all syntax of a piece of code; none of a fragment that does not parse by itself."""
    try:
        return list(ast.walk(ast.parse(dedented(text))))
    except (SyntaxError, ValueError):
        return []


def _behind_dots(text: str) -> Iterator[str]:
    """Yield the attributes in a fragment that does not parse by itself, such as ``if self.x:``."""
    for dot, name in pairwise(significant(text)):
        if dot.text == "." and name.kind == "name":
            yield name.text


def _read_at(node: ast.AST, module: str, known: Mapping[str, str]) -> Iterator[_Read]:
    """Yield the attribute that a node reads, or the fields that a call names."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        first, *rest = _chain(node) or [""]
        full = [".".join([known.get(first) or f"{module}.{first}", *rest])] if first else []
        yield (*full, f".{node.attr}")
    elif isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg:
                yield (f"{keyword.arg}=",)


def _chain(node: ast.expr) -> list[str]:
    """Return the names of ``a.b.c``; none if it does not begin with a name."""
    if isinstance(node, ast.Name):
        return [node.id]
    if not isinstance(node, ast.Attribute):
        return []
    before = _chain(node.value)
    return [*before, node.attr] if before else []
