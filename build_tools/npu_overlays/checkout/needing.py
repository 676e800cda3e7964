"""Needing: what an overlay says one by one → which of it cannot run without which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from npu_overlays.checkout.reading import Read, read_by
from npu_overlays.checkout.units import Item, Unit
from npu_overlays.model.shipped_modules import module_name
from npu_overlays.overlay.layer_content import OverlayFile
from npu_overlays.overlay.operations import Operation
from npu_overlays.sources.pin import Pin


def needed(units: Sequence[Unit], pin: Pin) -> dict[int, frozenset[int]]:
    """Return for each unit, by its number, those it cannot run without, itself among them.

    Those are the added files that it imports, and the names and attributes it reads that others add; as far as the text
    shows, which of most attributes shows the name alone, and not of what they are.
    """
    providers = _providers(units, pin)
    direct = {
        number: {one for item in unit.items for read in _reads(item, pin) for one in _meant(read, providers)} | {number}
        for number, unit in enumerate(units)
    }
    return {number: frozenset(_reached(number, direct)) for number in direct}


def _meant(read: Read, providers: Mapping[str, frozenset[int]]) -> frozenset[int]:
    """Return what adds something that is read: by the first of its names that anything adds."""
    return next((providers[name] for name in read if name in providers), frozenset())


def _reached(start: int, direct: Mapping[int, set[int]]) -> set[int]:
    found: set[int] = set()
    waiting = [start]
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += direct[number]
    return found


def _providers(units: Sequence[Unit], pin: Pin) -> dict[str, frozenset[int]]:
    found: dict[str, frozenset[int]] = {}
    for number, unit in enumerate(units):
        for name in (name for item in unit.items for name in _added(item, unit, pin)):
            found[name] = found.get(name, frozenset()) | {number}
    return found


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


def _reads(item: Item, pin: Pin) -> Iterator[Read]:
    if isinstance(item, Operation):
        texts = [*(one.statement for one in item.imports), item.text, *(edit.replace for edit in item.edits)]
        yield from read_by(texts, pin.place(item.path), item.owner)
    elif isinstance(item, OverlayFile) and item.path.endswith(".py"):
        yield from read_by([item.content.decode("utf-8", "replace")], pin.place(item.path), "")
