"""Shipped modules: tree in the layout of the wheel → what can be imported from it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from copy import copy
from functools import cache, cached_property

from npu_overlays.model.exports import Surface
from npu_overlays.model.imports import absolute, imported
from npu_overlays.model.module import Module, parsed_module
from npu_overlays.model.module_imports import imports_in, module_imports
from npu_overlays.model.parsed_text import ParsedText
from npu_overlays.model.symbols import Imported

EXTENSIONS = (".so", ".pyd")
_OF_EVERY_MODULE = frozenset(
    {"__name__", "__doc__", "__file__", "__path__", "__spec__", "__dict__", "__loader__", "__package__"}
    | {"__builtins__", "__cached__", "__class__", "__annotations__"}
)


@cache
def module_name(place: str) -> str:
    """Return the dotted name under which a file of the wheel is imported; empty if it is no module."""
    folder, _, leaf = place.rpartition("/")
    stem, _, suffix = leaf.partition(".")
    if not stem.isidentifier() or not (suffix == "py" or leaf.endswith(EXTENSIONS)):
        return ""
    return "/".join(filter(None, (folder, "" if stem == "__init__" else stem))).replace("/", ".")


class ShippedModules:
    """The modules of one tree, upstream's or the patched one, by their import names.

    None stands for what text alone does not show: modules of other distributions, names made at run time.

    Args:
        places: repository path by place in the wheel.
        homes: the folders of the wheel that hold the shipped packages, and single modules.
        read: returns the bytes of a repository path; raises `KeyError` for one that the tree does not hold.
        absent: places of files that the commit holds and this source lacks.
    """

    def __init__(
        self,
        places: Mapping[str, str],
        homes: Iterable[str],
        read: Callable[[str], bytes],
        absent: Iterable[str] = (),
    ) -> None:
        self.places = places
        self._read = read
        self._contents: dict[str, bytes] = {}
        self.homes = frozenset(home.removesuffix(".py").replace("/", ".") for home in homes)
        self._modules: dict[str, Module | None] = {}
        self._imports: dict[str, list[ast.Import | ast.ImportFrom]] = {}
        self._absent = frozenset(filter(None, map(module_name, absent)))

    def with_module(self, path: str, content: bytes) -> ShippedModules:
        """Return the same modules with new content for one."""
        other = copy(self)
        other.__dict__.pop("texts", None)
        other._modules = {one: module for one, module in self._modules.items() if one != path}
        other._imports = {}
        other._contents = {path: content}
        other._read = self.read
        return other

    def forget(self) -> None:
        """Free what was read and parsed."""
        self.__dict__.pop("texts", None)
        self._contents.clear()
        self._modules.clear()
        self._imports.clear()

    def read(self, path: str) -> bytes:
        """Return the bytes of a repository path; raises `KeyError` for one that the tree does not hold."""
        if path not in self._contents:
            self._contents[path] = self._read(path)
        return self._contents[path]

    @cached_property
    def paths(self) -> dict[str, str]:
        """Repository path by dotted name; of two files of one name, the one that Python imports."""
        ranked = sorted(((_precedence(place), module_name(place), place) for place in self.places), reverse=True)
        return {name: self.places[place] for _, name, place in ranked if name}

    @cached_property
    def names(self) -> dict[str, str]:
        """Dotted name by repository path, also of a module hidden by another of its name."""
        return {path: name for place, path in self.places.items() if (name := module_name(place))}

    @cached_property
    def texts(self) -> dict[str, bytes]:
        """The content of every Python module, by repository path."""
        return {path: self.read(path) for path in sorted(self.paths.values()) if path.endswith(".py")}

    def module(self, path: str) -> Module | None:
        """Return a file of the tree as a module; None if it is absent or this Python cannot parse it."""
        if path not in self._modules:
            try:
                self._modules[path] = parsed_module(path, self.read(path)) if path.endswith(".py") else None
            except KeyError:
                self._modules[path] = None
        return self._modules[path]

    def text(self, path: str) -> ParsedText | None:
        """Return the parsed text of a file, likewise."""
        module = self.module(path)
        return module.parsed if module else None

    def offset(self, path: str, node: ast.AST) -> int:
        """Return the byte of a module at which one of its nodes begins, a byte order mark not counted."""
        module = self.module(path)
        return module.offset(getattr(node, "lineno", 1), getattr(node, "col_offset", 0)) if module else 0

    def imports(self, path: str) -> list[ast.Import | ast.ImportFrom]:
        """Return the unconditional imports of a module; none if this Python cannot parse it."""
        if path not in self._imports:
            module = self._modules.get(path)
            try:
                found = imports_in(module.tree) if module else module_imports(self.read(path))
            except (SyntaxError, ValueError, RecursionError):
                found = []
            self._imports[path] = found
        return self._imports[path]

    def name(self, path: str) -> str:
        """Return the dotted name of a file; empty if it is no module of the tree."""
        return self.names.get(path, "")

    def imported(self, module: str, node: ast.AST) -> Iterator[Imported]:
        """Yield the names that a statement of a module binds by importing them."""
        return imported(node, module, package=self.is_package(module))

    def sole_imports(
        self, module: str, text: ParsedText, unsure: Container[ast.AST], is_wanted: Callable[[Imported], bool]
    ) -> dict[str, Imported]:
        """Return a module's imports by local name, for names that nothing else in it may bind.

        Args:
            module: its dotted name.
            text: it, parsed.
            unsure: nodes that may not run.
            is_wanted: returns whether an import is of interest; names that another import binds too are left out.
        """
        found: dict[str, Imported] = {}
        doubtful: set[str] = set()
        for node in text.imports:
            for one in self.imported(module, node):
                known = found.setdefault(one.local, one)
                if node in unsure or known.full != one.full or not is_wanted(one):
                    doubtful.add(one.local)
        if found.keys() > doubtful:  # reading every binding is slow
            doubtful |= text.scopes.bound_otherwise
        return {name: one for name, one in found.items() if name not in doubtful}

    def inner_module(self, module: str, name: str) -> str:
        """Return the submodule that a module has under a name; empty if it has something else there, or nothing."""
        inner = f"{module}.{name}"
        return inner if self.holds(inner) and name not in self.surface(module).bound else ""

    @cached_property
    def packages(self) -> frozenset[str]:
        """Dotted names of the folders that contain something, with or without ``__init__.py``."""
        found: set[str] = set()
        for place in self.places:
            folder = place.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(folder.replace("/", ".") for folder in found)

    def owns(self, module: str) -> bool:
        """Return whether a dotted name points into the shipped packages."""
        return any(module == home or module.startswith(f"{home}.") for home in self.homes)

    def holds(self, module: str) -> bool:
        """Return whether a dotted name is that of a shipped module or folder."""
        return module in self.paths or module in self.packages

    def exists(self, module: str) -> bool | None:
        """Return whether a module can be imported; None if unknown."""
        if not module:
            return False  # a relative import that leads out of the package
        if not self.owns(module) or module in self._absent:
            return None
        if self.holds(module):
            return True
        parent = module.rpartition(".")[0]
        if self.exists(parent) is not True:
            return self.exists(parent)
        return None if self._open(parent) or self.surface(parent).dynamic else False

    def _open(self, package: str) -> bool:
        """Return whether other distributions may have modules in a package: it is a top-level namespace."""
        return package in self.homes and package not in self.paths

    def surface(self, module: str) -> Surface:
        """Return a module's exports; nothing is certain if it is no Python file."""
        path = self.paths.get(module)
        return Surface() if path is None else self.exports(path)

    def exports(self, path: str) -> Surface:
        """Return the exports of a file; nothing is certain if this Python cannot parse it."""
        text = self.text(path)
        return text.surface if text else Surface(dynamic=True)

    def offers(self, module: str, name: str, _seen: frozenset[str] = frozenset()) -> bool | None:
        """Return whether an imported module has a name; None if unknown."""
        if (found := self.exists(module)) is not True or module in _seen:
            return found and False
        surface = self.surface(module)
        inner = f"{module}.{name}"
        if name in surface.bound or name in _OF_EVERY_MODULE or self.holds(inner):
            return True
        answers = {self.star_brings(star, name, _seen | {module}) for star in self.stars(module)}
        if True in answers:
            return True
        unsure = surface.dynamic or None in answers or self._open(module) or inner in self._absent
        return None if unsure else False

    def stars(self, module: str) -> Iterator[str]:
        """Yield the dotted names of what a module imports with ``*``."""
        for level, name in self.surface(module).stars:
            yield absolute(module, level, name, package=self.is_package(module))

    def is_package(self, module: str) -> bool:
        """Return whether a module is a folder's ``__init__``."""
        return is_package_file(self.paths.get(module, ""))

    def star_brings(self, module: str, name: str, _seen: frozenset[str] = frozenset()) -> bool | None:
        """Return whether ``from module import *`` brings a name; None if unknown."""
        if (found := self.exists(module)) is not True:
            return found
        surface = self.surface(module)
        if surface.listed is not None:
            return True if name in surface.listed else None if surface.dynamic else False
        return False if name.startswith("_") else self.offers(module, name, _seen)


def is_package_file(place: str) -> bool:
    """Return whether a file is the module of its folder."""
    return place.rpartition("/")[2].startswith("__init__.")


def _precedence(place: str) -> int:
    """Return the precedence of a file among those of one module name: package, extension, Python."""
    if is_package_file(place):
        return 0
    return 1 if place.endswith(EXTENSIONS) else 2
