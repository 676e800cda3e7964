"""Dependencies: the units of an overlay → which of them cannot run without which others."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from npu_overlays.authoring.checkout.units import Item, Unit
from npu_overlays.contracts.overlay_code import CodePiece, OverlayCode
from npu_overlays.model.shipped_modules import module_name
from npu_overlays.overlay.layer_content import OverlayFile
from npu_overlays.overlay.operations import Operation
from npu_overlays.sources.pin import Pin

# The names that one thing may have, the most telling one first: dotted ones from the module on, ``.member`` of an
# attribute whose object is not known, and ``member=`` of what may be a field that a call fills.
_Read: TypeAlias = tuple[str, ...]
_OWN = ("self", "cls")


def needed(units: Sequence[Unit], code: OverlayCode, pin: Pin) -> dict[int, frozenset[int]]:
    """Return for each unit, by its number, those it cannot run without, itself among them.

    Those are the added files that it imports, and the names and attributes it reads that others add, as far as the text
    shows. Of most attributes it shows only the name, and not the object.
    """
    providers: dict[str, set[int]] = {}
    # The unit of each operation, and of each added file by its name in messages.
    holders: dict[int | str, int] = {}
    for number, unit in enumerate(units):
        for item in unit.items:
            holders[id(item)] = number
            if isinstance(item, OverlayFile):
                holders[item.file] = number
            for name in _added(item, unit, pin):
                providers.setdefault(name, set()).add(number)
    direct: dict[int, set[int]] = {number: {number} for number in range(len(units))}
    for piece in code.all:
        number = holders[id(piece.operation) if piece.operation else piece.file]
        for read in _reads(piece, module_name(pin.place(piece.path))):
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


def _reads(piece: CodePiece, module: str) -> Iterator[_Read]:
    """Yield the names, attributes and fields that a piece of the overlay's text reads in its module."""
    known: dict[str, str] = {}
    for one in piece.imports.values():
        known[one.local] = one.full
        # An import from a module imports that, too, and one of a module its package.
        yield (one.module if one.name else one.alias.name,)
        yield (one.full,)
    if piece.owner:
        known |= dict.fromkeys(_OWN, f"{module}.{piece.owner}")
    for node in filter(piece.says, ast.walk(piece.tree)):
        if isinstance(node, ast.Name):
            yield (known.get(node.id) or f"{module}.{node.id}",)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            first, *rest = _chain(node) or [""]
            full = [".".join([known.get(first) or f"{module}.{first}", *rest])] if first else []
            yield (*full, f".{node.attr}")
        elif isinstance(node, ast.Call):
            yield from ((f"{keyword.arg}=",) for keyword in node.keywords if keyword.arg)


def _chain(node: ast.expr) -> list[str]:
    """Return the names of ``a.b.c``; none if it does not begin with a name."""
    if isinstance(node, ast.Name):
        return [node.id]
    if not isinstance(node, ast.Attribute):
        return []
    before = _chain(node.value)
    return [*before, node.attr] if before else []
