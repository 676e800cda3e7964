"""Shipped modules: tree as it lies in the wheel → what can be imported from it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import TypeVar

from npu_overlays.merging.authorship import bare
from npu_overlays.syntax.module_imports import module_imports
from npu_overlays.syntax.parsing import line_starts, parsed
from npu_overlays.syntax.scope_reader import read_scopes
from npu_overlays.syntax.scopes import Scopes
from npu_overlays.syntax.surface import Surface, surface_of

T = TypeVar("T")

EXTENSIONS = (".so", ".pyd")
_EMPTY = ast.Module(body=[], type_ignores=[])
_OF_EVERY_MODULE = frozenset(
    {"__name__", "__doc__", "__file__", "__path__", "__spec__", "__dict__", "__loader__", "__package__"}
    | {"__builtins__", "__cached__", "__class__", "__annotations__"}
)


@cache
def module_name(place: str) -> str:
    """Return the dotted name under which a file of the wheel is imported; empty where it is no module."""
    folder, _, leaf = place.rpartition("/")
    stem, _, suffix = leaf.partition(".")
    if not stem.isidentifier() or not (suffix == "py" or leaf.endswith(EXTENSIONS)):
        return ""
    return "/".join(part for part in (folder, "" if stem == "__init__" else stem) if part).replace("/", ".")


class Sources:
    """What is known of modules by their content, upstream's and the patched ones; nothing is found out twice."""

    def __init__(self) -> None:
        self._trees: dict[bytes, ast.Module | None] = {}
        self._surfaces: dict[bytes, Surface] = {}
        self._imports: dict[bytes, list[ast.Import | ast.ImportFrom]] = {}
        self._starts: dict[bytes, list[int]] = {}

    def offset(self, content: bytes, node: ast.AST) -> int:
        """Return the byte of a module at which a node begins, a byte order mark not counted."""
        if content not in self._starts:
            self._starts[content] = line_starts(bare(content).splitlines(keepends=True))
        return self._starts[content][getattr(node, "lineno", 1) - 1] + int(getattr(node, "col_offset", 0))

    def tree(self, content: bytes) -> ast.Module | None:
        """Return the syntax tree of a module; None where this Python cannot parse it."""
        if content not in self._trees:
            self._trees[content] = _tried(parsed, content)
        return self._trees[content]

    def imports(self, content: bytes) -> list[ast.Import | ast.ImportFrom]:
        """Return the imports a module runs whatever happens; none of one this Python cannot parse."""
        if content not in self._imports:
            self._imports[content] = _tried(module_imports, content) or []
        return self._imports[content]

    def surface(self, content: bytes) -> Surface:
        """Return what a module offers; of one this Python cannot parse, nothing certain."""
        if content not in self._surfaces:
            tree = self.tree(content)
            known = surface_of(tree, self.scopes(content), content) if tree else Surface(dynamic=True)
            self._surfaces[content] = known
        return self._surfaces[content]

    def scopes(self, content: bytes) -> Scopes:
        """Return the scopes of a module; none of one this Python cannot parse."""
        return read_scopes(self.tree(content) or _EMPTY)


def _tried(read: Callable[[bytes], T], content: bytes) -> T | None:
    try:
        return read(bare(content))
    except (SyntaxError, ValueError, RecursionError):
        return None


class Shipped:
    """The modules of one tree, upstream's or the patched one, by the names they are imported under.

    What cannot be told from text alone is answered with None: another distribution's modules, names a module
    makes up at run time.

    Args:
        places: repository path by place in the wheel.
        homes: the folders of the wheel that hold the shipped packages, and single modules.
        read: returns the bytes of a repository path.
        sources: parses them.
        unseen: places of files the commit holds and the source at hand lacks.
    """

    def __init__(
        self,
        places: Mapping[str, str],
        homes: Iterable[str],
        read: Callable[[str], bytes],
        sources: Sources,
        unseen: Iterable[str] = (),
    ) -> None:
        self.places = places
        self.sources = sources
        self.read = read
        self._homes = frozenset(home.removesuffix(".py").replace("/", ".") for home in homes)
        self._unseen = frozenset(filter(None, map(module_name, unseen)))

    @cached_property
    def modules(self) -> dict[str, str]:
        """Repository path by dotted name: of two files of one name, the one that is imported."""
        named = ((module_name(place), place) for place in self.places)
        last = sorted(((_precedence(place), name, place) for name, place in named if name), reverse=True)
        return {name: self.places[place] for _, name, place in last}

    @cached_property
    def packages(self) -> frozenset[str]:
        """Dotted names of the folders that hold something, with ``__init__.py`` or without."""
        found: set[str] = set()
        for place in self.places:
            folder = place.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(folder.replace("/", ".") for folder in found)

    def owns(self, module: str) -> bool:
        """Return whether a dotted name points into the shipped packages."""
        return any(module == home or module.startswith(f"{home}.") for home in self._homes)

    def holds(self, module: str) -> bool:
        """Return whether a dotted name is that of a shipped module or folder."""
        return module in self.modules or module in self.packages

    def exists(self, module: str) -> bool | None:
        """Return whether a module can be imported; None where that cannot be told."""
        if not module:
            return False  # a relative import that leads out of the package
        if not self.owns(module) or module in self._unseen:
            return None
        if self.holds(module):
            return True
        parent = module.rpartition(".")[0]
        if self.exists(parent) is not True:
            return self.exists(parent)
        return None if self._open(parent) or self.surface(parent).dynamic else False

    def _open(self, package: str) -> bool:
        """Return whether other distributions may have modules in a package: a namespace at the top."""
        return package in self._homes and package not in self.modules

    def surface(self, module: str) -> Surface:
        """Return what a module offers; nothing certain where it is no Python file."""
        path = self.modules.get(module)
        if path is None:
            return Surface()
        return self.sources.surface(self.read(path)) if path.endswith(".py") else Surface(dynamic=True)

    def offers(self, module: str, name: str, _seen: frozenset[str] = frozenset()) -> bool | None:
        """Return whether a module has a name once it is imported; None where that cannot be told."""
        if (found := self.exists(module)) is not True or module in _seen:
            return found and False
        surface = self.surface(module)
        inner = f"{module}.{name}"
        if name in surface.bound or name in _OF_EVERY_MODULE or self.holds(inner):
            return True
        answers = {self.star_brings(star, name, _seen | {module}) for star in self.stars(module)}
        if True in answers:
            return True
        unsure = surface.dynamic or None in answers or self._open(module) or inner in self._unseen
        return None if unsure else False

    def stars(self, module: str) -> Iterator[str]:
        """Yield the dotted names of what a module imports with ``*``."""
        for level, name in self.surface(module).stars:
            yield absolute(module, level, name, package=self.is_package(module))

    def is_package(self, module: str) -> bool:
        """Return whether a module is a folder's ``__init__``."""
        return self.modules.get(module, "").rpartition("/")[2].startswith("__init__.")

    def star_brings(self, module: str, name: str, _seen: frozenset[str] = frozenset()) -> bool | None:
        """Return whether ``from module import *`` brings a name; None where that cannot be told."""
        if (found := self.exists(module)) is not True:
            return found
        surface = self.surface(module)
        if surface.listed is not None:
            return True if name in surface.listed else None if surface.dynamic else False
        return False if name.startswith("_") else self.offers(module, name, _seen)


def _precedence(place: str) -> int:
    """Return how early Python takes a file among those of one module name: a package, an extension, Python."""
    if place.rpartition("/")[2].startswith("__init__."):
        return 0
    return 1 if place.endswith(EXTENSIONS) else 2


def absolute(module: str, level: int, name: str, *, package: bool) -> str:
    """Return the dotted name that an import inside `module` means, given its dots; empty where they lead out."""
    if not level:
        return name
    parts = module.split(".")
    base = parts[: max(len(parts) - level + package, 0)]
    return ".".join([*base, name] if name else base) if base else ""
