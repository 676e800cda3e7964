"""Needing: what an overlay says one by one → which of it cannot run without which."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from npu_overlays.checkout.units import Item, Unit
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.said import OverlayFile
from npu_overlays.pin import Pin
from npu_overlays.syntax.texts import names_in

# A module by its dotted name, or a name that is added to the module of a path.
_Key = tuple[str, str]


def needed(units: Sequence[Unit], pin: Pin) -> dict[int, frozenset[int]]:
    """Return for each unit, by its number, those it cannot run without, itself among them.

    Those are the added files that it imports, and the names it reads that others add; as far as the text shows.
    """
    providers = _providers(units, pin)
    direct = {
        number: {providers[key] for item in unit.items for key in _used(item, pin) if key in providers} | {number}
        for number, unit in enumerate(units)
    }
    return {number: frozenset(_reached(number, direct)) for number in direct}


def _reached(start: int, direct: Mapping[int, set[int]]) -> set[int]:
    found: set[int] = set()
    waiting = [start]
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += direct[number]
    return found


def _providers(units: Sequence[Unit], pin: Pin) -> dict[_Key, int]:
    found: dict[_Key, int] = {}
    for number, unit in enumerate(units):
        for item in unit.items:
            if isinstance(item, OverlayFile) and unit.action == "file":
                found["", _module(pin, item.path)] = number
            elif isinstance(item, Operation) and item.action == "added":
                found[_module(pin, item.path), item.symbol.partition(".")[0]] = number
    return found


def _module(pin: Pin, path: str) -> str:
    """Return the dotted name that a file is imported by."""
    return pin.place(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _used(item: Item, pin: Pin) -> Iterator[_Key]:
    """Yield what an item reads: modules, names of modules, and names of its own module."""
    if isinstance(item, Operation):
        module = _module(pin, item.path)
        texts = [item.text, *(edit.replace for edit in item.edits)]
        yield from ((module, name) for text in texts for name in names_in(text))
        for text in (*texts, *(one.statement for one in item.imports)):
            yield from _imported(text, module)
    elif isinstance(item, OverlayFile) and item.path.endswith(".py"):
        yield from _imported(item.content.decode("utf-8", "replace"), _module(pin, item.path))


def _imported(text: str, module: str) -> Iterator[_Key]:
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (("", alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            yield "", source
            for alias in node.names:
                yield source, alias.name
                yield "", f"{source}.{alias.name}"
