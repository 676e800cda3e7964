"""Lazily: lazy package → what it needs of its modules, and whether a tree has what it says that it has."""

from __future__ import annotations

from collections.abc import Iterator

from npu_overlays.merging.gate.references import Reference
from npu_overlays.merging.gate.shipped import Shipped, absolute
from npu_overlays.syntax.lazy import looks_lazy
from npu_overlays.syntax.surface import may_import_all


def handed_on(shipped: Shipped, module: str) -> Iterator[Reference]:
    """Yield what a lazy package says it has from modules of the tree; nothing of any other module."""
    lazy, package = shipped.surface(module).lazy, shipped.is_package(module)
    for entry in lazy.entries if lazy else ():
        home = absolute(module, entry.level, entry.module, package=package)
        if shipped.owns(home):
            yield Reference(module=home, name=entry.taken, node=entry.node, text=entry.text)


def holds(shipped: Shipped, reference: Reference) -> bool | None:
    """Return whether a tree has what is needed, lazy packages followed; None where that cannot be told."""
    known = reference.holds(shipped)
    return _has(shipped, reference.module, reference.name) if known is None and reference.name else known


def may_hand_on(content: bytes) -> bool:
    """Return whether a module's text looks as if it had names of other modules that it does not mention."""
    return may_import_all(content) or looks_lazy(content)


def _has(shipped: Shipped, module: str, name: str, seen: frozenset[str] = frozenset()) -> bool | None:
    known = shipped.offers(module, name)
    if known is not None or module in seen:
        return known
    answers = set(_places(shipped, module, name, seen | {module}))
    return True if True in answers else False if answers == {False} else None


def _places(shipped: Shipped, module: str, name: str, seen: frozenset[str]) -> Iterator[bool | None]:
    """Yield of each place from which a lazy package may have a name whether it is there."""
    lazy, package = shipped.surface(module).lazy, shipped.is_package(module)
    for entry in lazy.entries if lazy else ():
        if entry.name == name:
            yield _has(shipped, absolute(module, entry.level, entry.module, package=package), entry.taken, seen)
    for level, star in lazy.stars if lazy else ():
        if _lists(shipped, absolute(module, level, star, package=package), name, seen):
            yield True
    for inner in shipped.modules if lazy and lazy.collecting else ():
        if inner.rpartition(".")[0] == module:
            yield _lists(shipped, inner, name, seen)


def _lists(shipped: Shipped, module: str, name: str, seen: frozenset[str]) -> bool | None:
    """Return whether a module hands a name on to who takes or collects all of it; None where that cannot be told."""
    path = shipped.modules.get(module, "")
    content = shipped.read(path) if path else b""
    # Parsing takes long, and few of the modules that are taken as a whole mention the name.
    if path and name.encode() not in content and not may_hand_on(content):
        return False
    if shipped.star_brings(module, name):
        return True
    # A decorator can list what `__all__` does not.
    known = _has(shipped, module, name, seen)
    return known if known is False or shipped.surface(module).listed is None else None
