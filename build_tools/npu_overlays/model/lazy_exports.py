"""Lazy exports: package that imports on demand → whether it has a name, and from which module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.exports import Surface, may_import_all
from npu_overlays.model.imports import absolute
from npu_overlays.model.lazy_packages import LazyEntry, looks_lazy
from npu_overlays.model.shipped_modules import ShippedModules
from npu_overlays.model.syntax import called, last_name

__all__ = ["entries", "has", "looks_lazy", "may_hand_on", "origins"]

# Scripts, and what modules are generated from.
_NEVER_COLLECTED = ("convert_", "modular_")
# What transformers' decorators that list something are called, as in `@requires(backends=…)`.
_LISTING = ("requires", "export")
_LISTED = b"__all__"
# A list of nothing but plain texts, and each of these.
_LIST = re.compile(rb"""^__all__ = [\[(]\s*((?:["']\w+["'],?\s*)*)[\])]\s*$""", re.MULTILINE)
_TEXT = re.compile(rb"\w+")


def has(modules: ShippedModules, module: str, name: str, seen: frozenset[str] = frozenset()) -> bool | None:
    """Return whether a module has a name, lazy packages followed; None if unknown."""
    known = modules.offers(module, name)
    if known is not None or module in seen:
        return known
    answers: set[bool | None] = set()
    for _, _, answer in origins(modules, module, name, seen | {module}):
        if answer:
            return True  # the other places are slow to read
        answers.add(answer)
    return False if answers == {False} else None


def may_hand_on(content: bytes) -> bool:
    """Return whether a module may re-export names that it does not mention, by its text alone."""
    return may_import_all(content) or looks_lazy(content)


def entries(modules: ShippedModules, module: str) -> Iterator[tuple[str, LazyEntry]]:
    """Yield the names that a lazy package declares, each with its module."""
    lazy, package = modules.surface(module).lazy, modules.is_package(module)
    if lazy:
        for entry in lazy.entries:
            yield absolute(module, entry.level, entry.module, package=package), entry


def origins(
    modules: ShippedModules, module: str, name: str, seen: frozenset[str] = frozenset()
) -> Iterator[tuple[str, str, bool | None]]:
    """Yield the modules that a lazy package may get a name from.

    Returns:
        The module, the name there, and whether it exists; None if unknown.
    """
    lazy, package = modules.surface(module).lazy, modules.is_package(module)
    if lazy is None:
        return
    for home, entry in entries(modules, module):
        if entry.name == name:
            yield home, entry.taken, has(modules, home, entry.taken, seen)
    for entry in lazy.tables:
        if entry.name == name:
            home = absolute(module, entry.level, entry.module, package=package)
            yield home, entry.taken, has(modules, home, entry.taken, seen) or None
    if lazy.collecting:
        yield from _collected(modules, module, name, lazy.collecting)
        return
    # What type checkers take as a whole is what Python has by collecting it.
    for level, star in lazy.stars:
        home = absolute(module, level, star, package=package)
        if _lists(modules, home, name, seen):
            yield home, name, True


def _collected(
    modules: ShippedModules, module: str, name: str, packages: Iterable[str]
) -> Iterator[tuple[str, str, bool | None]]:
    """Yield the modules that a lazy package collects, each with the name, and whether it provides that."""
    package = modules.is_package(module)
    folders = tuple(f"{absolute(module, 1, inner, package=package)}." for inner in packages)
    for inner in modules.paths:
        if inner.startswith(folders):
            yield inner, name, _gives(modules, inner, name)


def _lists(modules: ShippedModules, module: str, name: str, seen: frozenset[str]) -> bool | None:
    """Return whether taking everything from a module brings a name; None if unknown."""
    path = modules.paths.get(module, "")
    content = modules.read(path) if path else b""
    # Few of the modules that are taken as a whole mention the name; the others need not be parsed.
    if path and name.encode() not in content and not may_hand_on(content):
        return False
    brought = modules.star_brings(module, name)
    return has(modules, module, name, seen) if brought is None else brought


def _gives(modules: ShippedModules, module: str, name: str) -> bool | None:
    """Return whether a module's lists contain a name; None if unknown.

    Only its text counts; a folder's ``__init__`` is not examined.
    """
    path = modules.paths[module]
    apart = modules.is_package(module) or module.rpartition(".")[2].startswith(_NEVER_COLLECTED)
    if apart or not path.endswith(".py"):
        return False
    content = modules.read(path)
    if name.encode() not in content:
        return False
    listed = _listed(content)
    surface = modules.surface(module) if listed is None else Surface()
    if name in (listed or surface.listed or ()):
        return True
    unsure = surface.listed is not None and surface.dynamic
    return None if unsure else _is_listed_by_decorator(modules, path, name)


def _listed(content: bytes) -> frozenset[str] | None:
    """Return the names in a module's `__all__` if its text alone shows them, without its scopes; else None."""
    if _LISTED not in content:
        return frozenset()
    found = _LIST.findall(content) if content.count(_LISTED) == 1 else []
    return frozenset(text.decode() for text in _TEXT.findall(found[0])) if found else None


def _is_listed_by_decorator(modules: ShippedModules, path: str, name: str) -> bool | None:
    """Return None if a decorator may list a definition that `__all__` does not, else False."""
    if not re.search(rb"^(?:class|def|async\s+def)\s+%s\b" % name.encode(), modules.read(path), re.MULTILINE):
        return False
    module = modules.module(path)
    if module is None:
        return None
    for node in module.tree.body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and node.name == name:
            for decorator in node.decorator_list:
                if last_name(called(decorator)).startswith(_LISTING):
                    return None
    return False
