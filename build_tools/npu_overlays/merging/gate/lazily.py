"""Lazily: lazy package → what it needs of its modules, and whether a tree has what it says that it has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npu_overlays.merging.gate.references import Reference
from npu_overlays.merging.gate.shipped import Shipped, absolute
from npu_overlays.syntax.definitions import FUNCTIONS
from npu_overlays.syntax.lazy import looks_lazy
from npu_overlays.syntax.surface import Surface, may_import_all

# Scripts, and what modules are generated from.
_NEVER_COLLECTED = ("convert_", "modular_")
# What transformers' decorators that list something are called, as in `@requires(backends=…)`.
_LISTING = ("requires", "export")
_LISTED = b"__all__"
# A list of nothing but plain texts, and each of these.
_LIST = re.compile(rb"""^__all__ = [\[(]\s*((?:["']\w+["'],?\s*)*)[\])]\s*$""", re.MULTILINE)
_TEXT = re.compile(rb"\w+")


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
    return has(shipped, reference.module, reference.name) if known is None and reference.name else known


def has(shipped: Shipped, module: str, name: str, seen: frozenset[str] = frozenset()) -> bool | None:
    """Return whether a module has a name, lazy packages followed; None where that cannot be told."""
    known = shipped.offers(module, name)
    if known is not None or module in seen:
        return known
    answers: set[bool | None] = set()
    for answer in _places(shipped, module, name, seen | {module}):
        if answer:
            return True  # looking at the other places takes long
        answers.add(answer)
    return False if answers == {False} else None


def may_hand_on(content: bytes) -> bool:
    """Return whether a module's text looks as if it had names of other modules that it does not mention."""
    return may_import_all(content) or looks_lazy(content)


def _places(shipped: Shipped, module: str, name: str, seen: frozenset[str]) -> Iterator[bool | None]:
    """Yield of each place from which a lazy package may have a name whether it is there."""
    lazy, package = shipped.surface(module).lazy, shipped.is_package(module)
    for entry in lazy.entries if lazy else ():
        if entry.name == name:
            yield has(shipped, absolute(module, entry.level, entry.module, package=package), entry.taken, seen)
    folders = [absolute(module, 1, inner, package=package) for inner in lazy.collecting] if lazy else []
    # What type checkers take as a whole is what Python has by collecting it.
    for level, star in lazy.stars if lazy and not folders else ():
        if _lists(shipped, absolute(module, level, star, package=package), name, seen):
            yield True
    for inner in shipped.modules if folders else ():
        if any(inner.startswith(f"{folder}.") for folder in folders):
            yield _gives(shipped, inner, name)


def _lists(shipped: Shipped, module: str, name: str, seen: frozenset[str]) -> bool | None:
    """Return whether a module hands a name on to who takes all of it; None where that cannot be told."""
    path = shipped.modules.get(module, "")
    content = shipped.read(path) if path else b""
    # Parsing takes long, and few of the modules that are taken as a whole mention the name.
    if path and name.encode() not in content and not may_hand_on(content):
        return False
    brought = shipped.star_brings(module, name)
    return has(shipped, module, name, seen) if brought is None else brought


def _gives(shipped: Shipped, module: str, name: str) -> bool | None:
    """Return whether a module gives a name to what collects lists; None where that cannot be told.

    Only what its text says counts; a folder's own module is not asked.
    """
    path = shipped.modules[module]
    apart = shipped.is_package(module) or module.rpartition(".")[2].startswith(_NEVER_COLLECTED)
    if apart or not path.endswith(".py") or name.encode() not in (content := shipped.read(path)):
        return False
    listed = _listed(content)
    surface = shipped.surface(module) if listed is None else Surface()
    if name in (listed or surface.listed or ()):
        return True
    unsure = surface.listed is not None and surface.dynamic
    return None if unsure else _is_listed_by_decorator(shipped, content, name)


def _listed(content: bytes) -> frozenset[str] | None:
    """Return what a module's `__all__` lists, where its text alone tells: reading scopes takes long; else None."""
    if _LISTED not in content:
        return frozenset()
    found = _LIST.findall(content) if content.count(_LISTED) == 1 else []
    return frozenset(text.decode() for text in _TEXT.findall(found[0])) if found else None


def _is_listed_by_decorator(shipped: Shipped, content: bytes, name: str) -> bool | None:
    """Return whether a decorator may list a definition that `__all__` does not: None where one may, else False."""
    if not re.search(rb"^(?:class|def|async\s+def)\s+%s\b" % name.encode(), content, re.MULTILINE):
        return False
    tree = shipped.sources.tree(content)
    definitions = (one for one in tree.body if isinstance(one, (*FUNCTIONS, ast.ClassDef))) if tree else ()
    decorators = (ast.unparse(called) for one in definitions if one.name == name for called in one.decorator_list)
    lists = (text.partition("(")[0].rpartition(".")[2].startswith(_LISTING) for text in decorators)
    return None if tree is None or any(lists) else False
