"""Lineage: the classes of one tree → the classes of it that each derives from."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.errors import MergeError
from npu_overlays.merging.gate.shipped import Shipped, absolute
from npu_overlays.syntax.aliases import full_names
from npu_overlays.syntax.symbols import Module

_DEPTH = 20

# Repository path and qualified name.
Place = tuple[str, str]


class Lineage:
    """The classes of one tree, upstream's or the patched one.

    Args:
        shipped: the modules of the tree.
    """

    def __init__(self, shipped: Shipped) -> None:
        self._shipped = shipped
        self._modules: dict[str, Module | None] = {}
        self._names = {path: name for name, path in shipped.modules.items()}

    def module(self, path: str) -> Module | None:
        """Return a module of the tree; None where it has none, or none that this Python can parse."""
        if path not in self._modules:
            try:
                known = path in self._names and path.endswith(".py")
                self._modules[path] = Module(path, self._shipped.read(path)) if known else None
            except MergeError:
                self._modules[path] = None
        return self._modules[path]

    def node(self, place: Place) -> ast.ClassDef | None:
        """Return a class; None where there is none, or several of the name."""
        module = self.module(place[0])
        known = [one.node for one in module.definitions.get(place[1], [])] if module else []
        return known[0] if len(known) == 1 and isinstance(known[0], ast.ClassDef) else None

    def text(self, place: Place) -> bytes:
        """Return the source of a class, decorators included; empty where there is none, or several of the name."""
        module, node = self.module(place[0]), self.node(place)
        return module.whole_text(node) if module and node else b""

    def classes(self, path: str) -> Iterator[Place]:
        """Yield the classes of a module."""
        module = self.module(path)
        for name, known in module.definitions.items() if module else ():
            if any(isinstance(one.node, ast.ClassDef) for one in known):
                yield path, name

    def bases(self, place: Place) -> Iterator[Place]:
        """Yield the bases of a class that are classes of this tree, in order."""
        node = self.node(place)
        for given in node.bases if node else ():
            found = self.meant(place[0], given)
            if found and found != place:
                yield found

    def meant(self, path: str, node: ast.expr) -> Place | None:
        """Return the class of this tree that an expression at a module's own level stands for."""
        module = self.module(path)
        base = node.value if isinstance(node, ast.Subscript) else node
        found = self._resolved(path, ast.unparse(base), 0) if module else None
        names = sorted(full_names(module, base)) if module and not found else []
        return found or next(filter(None, (self._resolved(path, name, 0) for name in names)), None)

    def imported(self, path: str, name: str) -> Place | None:
        """Return the class of this tree that a module has under a dotted name which it imports in a function."""
        return self._resolved(path, name, 0)

    def _resolved(self, path: str, name: str, depth: int) -> Place | None:
        """Return the class that a dotted name means in a module; a leading dot makes it relative to its package."""
        module = self.module(path)
        known = module.definitions.get(name, []) if module else []
        if any(isinstance(one.node, ast.ClassDef) for one in known) or depth > _DEPTH:
            return path, name
        own = self._names.get(path, "")
        bare = name.lstrip(".")
        dotted = absolute(own, len(name) - len(bare), bare, package=self._shipped.is_package(own))
        for imported in [dotted] if dotted != own else []:
            home, _, leaf = imported.rpartition(".")
            while home and home not in self._shipped.modules:
                home, _, inner = home.rpartition(".")
                leaf = f"{inner}.{leaf}"
            target = self._shipped.modules.get(home, "")
            if target and (target != path or leaf != name):
                return self._exported(target, leaf, depth + 1)
        return self._class_by_star(path, name, depth)

    def _exported(self, path: str, name: str, depth: int) -> Place | None:
        """Return the class that a module offers under a name, its own or one it imports."""
        module = self.module(path)
        if not module:
            return None
        if name in module.definitions:
            names = [name, *sorted(full_names(module, ast.Name(name)))]
            return next(filter(None, (self._resolved(path, one, depth) for one in names)), None)
        return self._class_by_star(path, name, depth)

    def _class_by_star(self, path: str, name: str, depth: int) -> Place | None:
        """Return the class that a star import of a module brings under a name."""
        stars = self._shipped.stars(self._names.get(path, "")) if "." not in name and depth < _DEPTH else ()
        homes = (self._shipped.modules.get(star, "") for star in stars)
        return next(filter(None, (self._exported(home, name, depth + 1) for home in homes if home)), None)
