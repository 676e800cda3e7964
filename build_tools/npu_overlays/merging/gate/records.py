"""Records: the classes of one tree whose ``__init__`` is made from their fields, and the order in which it takes them.

Those are dataclasses and what attrs and msgspec make, with the fields that their bases give them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from npu_overlays.errors import MergeError
from npu_overlays.merging.gate.shipped import Shipped, absolute
from npu_overlays.syntax.aliases import full_names
from npu_overlays.syntax.symbols import Module

_ATTRS = frozenset({"s", "attrs", "attributes", "dataclass", "define", "frozen", "mutable"})
_FIELDS = frozenset({"field", "ib", "attrib", "Field"})
_DEPTH = 20

# Repository path and qualified name.
Place = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field a class has itself: its name, and whether ``__init__`` takes it by position."""

    name: str
    positional: bool


class Records:
    """The record classes of one tree, upstream's or the patched one.

    Args:
        shipped: the modules of the tree.
    """

    def __init__(self, shipped: Shipped) -> None:
        self._shipped = shipped
        self._modules: dict[str, Module | None] = {}
        self._makers: dict[Place, str] = {}
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

    def positions(self, place: Place) -> list[str] | None:
        """Return the fields that a class's own generated ``__init__`` takes by position; None where it has none."""
        node = self.node(place)
        if not node or not self._maker(place) or _option(node, "init") is False:
            return None
        if any(getattr(one, "name", "") == "__init__" for one in node.body):
            return None
        return [name for name, positional in self._inherited(place, frozenset()).items() if positional]

    def _inherited(self, place: Place, seen: frozenset[Place]) -> dict[str, bool]:
        found: dict[str, bool] = {}
        for base in reversed(list(self.bases(place))) if place not in seen else ():
            found |= self._inherited(base, seen | {place})
        return found | {one.name: one.positional for one in self.fields(place)}

    def fields(self, place: Place) -> list[Field]:
        """Return the fields that a class adds to those of its bases; none where it is not made into a record."""
        node, maker = self.node(place), self._maker(place)
        if not node or not maker:
            return []
        if maker == "NamedTuple":
            targets = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
            return [Field(name=one.id, positional=True) for one in targets if isinstance(one, ast.Name)]
        return list(_fields(node, maker))

    def is_named_tuple(self, place: Place) -> bool:
        """Return whether a class is a ``typing.NamedTuple``, whose length its fields are."""
        return self._maker(place) == "NamedTuple"

    def _maker(self, place: Place) -> str:
        """Return what makes a record of a class: ``dataclass``, ``attrs``, ``msgspec``, ``NamedTuple`` or nothing."""
        if place not in self._makers:
            self._makers[place] = ""  # for a class that is, by mistake, its own base
            self._makers[place] = self._find_maker(place)
        return self._makers[place]

    def _find_maker(self, place: Place) -> str:
        node, module = self.node(place), self.module(place[0])
        if not node or not module:
            return ""
        for decorator in node.decorator_list:
            for name in full_names(module, decorator.func if isinstance(decorator, ast.Call) else decorator):
                home, _, leaf = name.rpartition(".")
                if leaf in _ATTRS and home in ("attr", "attrs"):
                    return "attrs"
                if leaf == "dataclass":
                    return "dataclass"
        names = {name for base in node.bases for name in full_names(module, base)}
        if any(name.rpartition(".")[2] == "NamedTuple" for name in names):
            return "NamedTuple"
        heir = any(self._maker(base) == "msgspec" for base in self.bases(place) if base != place)
        return "msgspec" if "msgspec.Struct" in names or heir else ""


def _fields(node: ast.ClassDef, maker: str) -> Iterator[Field]:
    named = _option(node, "kw_only") is True
    for statement in node.body:
        target, value = _target(statement)
        annotation = ast.unparse(statement.annotation) if isinstance(statement, ast.AnnAssign) else ""
        made = value if isinstance(value, ast.Call) and _leaf(value.func) in _FIELDS else None
        told = {one.arg: getattr(one.value, "value", None) for one in made.keywords} if made else {}
        if annotation.rpartition(".")[2] == "KW_ONLY":
            named = True
        elif (
            target
            and "ClassVar" not in annotation
            and (annotation or (made and maker == "attrs"))
            and told.get("init") is not False
        ):
            yield Field(name=target, positional=not told.get("kw_only", named))


def _target(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id, statement.value
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, statement.value
    return "", None


def _option(node: ast.ClassDef, name: str) -> object:
    """Return what a class's maker is told by a keyword, None where it is told nothing."""
    calls = [one for one in node.decorator_list if isinstance(one, ast.Call)]
    keywords = [keyword for call in calls for keyword in call.keywords] + list(node.keywords)
    return next((getattr(one.value, "value", None) for one in keywords if one.arg == name), None)


def _leaf(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
