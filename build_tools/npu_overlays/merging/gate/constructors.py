"""Constructors: class of a tree → what it is called with."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from npu_overlays.merging.gate.kin import BARE, Kin
from npu_overlays.merging.gate.lineage import Place
from npu_overlays.merging.gate.records import Records
from npu_overlays.syntax.aliases import full_names
from npu_overlays.syntax.definitions import FUNCTIONS, FunctionNode

_DATACLASS = "dataclasses.dataclass"
# Python's own, which classes without any have.
(_OBJECTS,) = (one for one in ast.parse("def __init__(self): ...").body if isinstance(one, FUNCTIONS))


def constructor(kin: Kin, place: Place) -> FunctionNode | frozenset[str] | None:
    """Return what a class is called by.

    Returns:
        Its ``__init__``, a base's, or one like Python's own where none has any; the keywords of a dataclass; None where
        that cannot be told.
    """
    return _constructor(kin, kin.line(place))


def constructor_behind(kin: Kin, place: Place) -> FunctionNode | frozenset[str] | None:
    """Return what ``super().__init__`` in a class is, likewise."""
    return _constructor(kin, kin.line(place)[1:]) if _has_known_bases(kin, place) else None


def _constructor(kin: Kin, line: Sequence[Place]) -> FunctionNode | frozenset[str] | None:
    if any("__new__" in kin.members(one) or _is_called_otherwise(kin, one) for one in line):
        return None
    number = next((at for at, one in enumerate(line) if _provides(kin, one)), len(line))
    # What is asked earlier may be a base that is of no distribution at hand.
    if not all(_has_known_bases(kin, one) for one in line[:number]):
        return None
    if number == len(line):
        return _OBJECTS
    if "__init__" in kin.members(line[number]):
        return _function(kin, line[number])
    return _fields(kin, line[number:])


def _is_called_otherwise(kin: Kin, place: Place) -> bool:
    """Return whether a metaclass or a decorator may exchange what a class is called by."""
    node = kin.lineage.node(place)
    return node is None or bool(node.keywords) or len(node.decorator_list) > (_dataclass(kin, place) is not None)


def _has_known_bases(kin: Kin, place: Place) -> bool:
    node = kin.lineage.node(place)
    return node is not None and all(_is_known(kin, place[0], base) for base in node.bases)


def _is_known(kin: Kin, path: str, base: ast.expr) -> bool:
    """Return whether a base is a class of the tree, or one that has nothing to do with how a class is called."""
    module = kin.lineage.module(path)
    names = full_names(module, base) if module else set()
    return kin.lineage.meant(path, base) is not None or (bool(names) and names <= BARE)


def _provides(kin: Kin, place: Place) -> bool:
    made = _dataclass(kin, place)
    return "__init__" in kin.members(place) or (made is not None and not _says(made, "init", value=False))


def _function(kin: Kin, place: Place) -> FunctionNode | None:
    module = kin.lineage.module(place[0])
    known = module.definitions.get(f"{place[1]}.__init__", []) if module else []
    node = known[0].node if len(known) == 1 else None
    return node if isinstance(node, FUNCTIONS) else None


def _dataclass(kin: Kin, place: Place) -> ast.expr | None:
    """Return the decorator that makes a class a dataclass; None where none does."""
    node, module = kin.lineage.node(place), kin.lineage.module(place[0])
    for one in node.decorator_list if node and module else ():
        called = one.func if isinstance(one, ast.Call) else one
        if module and full_names(module, called) == {_DATACLASS}:
            return one
    return None


def _fields(kin: Kin, line: Sequence[Place]) -> frozenset[str] | None:
    """Return the keywords of a dataclass, given it and its bases in the order in which Python asks them."""
    if not all(_has_known_bases(kin, one) for one in line):
        return None
    taken = Records(kin.lineage, lambda: False).taken(line[0])
    return None if taken is None else frozenset(one.name for one in taken)


def _says(call: ast.expr, keyword: str, *, value: bool) -> bool:
    """Return whether an expression is a call with a keyword of a certain value."""
    given = call.keywords if isinstance(call, ast.Call) else []
    return any(one.arg == keyword and getattr(one.value, "value", None) is value for one in given)
