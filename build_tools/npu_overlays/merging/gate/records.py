"""Records: the classes of one tree whose ``__init__`` is made from their fields, and the order in which it takes them.

Those are dataclasses and what attrs and msgspec make, with the fields that their bases give them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from npu_overlays.merging.gate.lineage import Lineage, Place
from npu_overlays.syntax.aliases import full_names

_ATTRS = frozenset({"s", "attrs", "attributes", "dataclass", "define", "frozen", "mutable"})
_FIELDS = frozenset({"field", "ib", "attrib", "Field"})


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field a class has itself.

    Args:
        name: its name.
        kind: how ``__init__`` takes it: ``|`` by position too, ``kw`` by name alone; empty where it does not.
        value: what it is given in the class, if anything.
    """

    name: str
    kind: str
    value: ast.expr | None = None


class Records:
    """The record classes of one tree.

    Args:
        lineage: all classes of that tree.
        structs: returns whether the tree may have any ``msgspec.Struct``.
    """

    def __init__(self, lineage: Lineage, structs: Callable[[], bool]) -> None:
        self.lineage = lineage
        self._structs = structs
        self._makers: dict[Place, str] = {}

    def positions(self, place: Place) -> list[str] | None:
        """Return the fields that a class's own generated ``__init__`` takes by position; None where it has none."""
        taken = self.taken(place)
        return None if taken is None else [one.name for one in taken if one.kind == "|"]

    def taken(self, place: Place) -> list[Field] | None:
        """Return the fields that a class's own generated ``__init__`` takes, in order; None where it has none."""
        node = self.lineage.node(place)
        if not node or not self._maker(place) or _option(node, "init") is False:
            return None
        if any(getattr(one, "name", "") == "__init__" for one in node.body):
            return None
        taken = [one for one in self._inherited(place, frozenset()).values() if one.kind]
        return sorted(taken, key=lambda one: one.kind == "kw")

    def _inherited(self, place: Place, seen: frozenset[Place]) -> dict[str, Field]:
        found: dict[str, Field] = {}
        for base in reversed(list(self.lineage.bases(place))) if place not in seen else ():
            found |= self._inherited(base, seen | {place})
        return found | {one.name: one for one in self.fields(place)}

    def fields(self, place: Place) -> list[Field]:
        """Return the fields that a class adds to those of its bases; none where it is not made into a record."""
        node, maker = self.lineage.node(place), self._maker(place)
        if not node or not maker:
            return []
        if maker == "NamedTuple":
            stated = [one for one in node.body if isinstance(one, ast.AnnAssign)]
            return [
                Field(name=one.target.id, kind="|", value=one.value)
                for one in stated
                if isinstance(one.target, ast.Name)
            ]
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
        node, module = self.lineage.node(place), self.lineage.module(place[0])
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
        # Only these are records by what they derive from, and to find out what a class derives from takes long.
        heir = self._structs() and any(self._maker(base) == "msgspec" for base in self.lineage.bases(place))
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
        elif target and "ClassVar" not in annotation and (annotation or (made and maker == "attrs")):
            kind = "" if told.get("init") is False else "kw" if told.get("kw_only", named) else "|"
            yield Field(name=target, kind=kind, value=value)


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
