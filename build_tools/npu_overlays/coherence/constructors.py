"""Constructors: class of an environment → whether it can be called with a keyword."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from npu_overlays.merging.gate.kin import Kin
from npu_overlays.merging.gate.lineage import Place
from npu_overlays.merging.gate.records import Records
from npu_overlays.syntax.aliases import full_names
from npu_overlays.syntax.definitions import FUNCTIONS, FunctionNode

_DATACLASS = "dataclasses.dataclass"
# As a base, none of them has anything to do with how a class is called.
_BARE = frozenset({"object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol"})


def constructor(kin: Kin, place: Place) -> FunctionNode | frozenset[str] | None:
    """Return what a class is called by.

    Returns:
        Its ``__init__``, or a base's; the keywords of a dataclass; None where that cannot be told.
    """
    line = kin.line(place)
    if any("__new__" in kin.members(one) or _is_called_otherwise(kin, one) for one in line):
        return None
    number = next((at for at, one in enumerate(line) if _provides(kin, one)), None)
    # What is asked earlier may be a base that is of neither distribution.
    if number is None or not all(_has_known_bases(kin, one) for one in line[:number]):
        return None
    if "__init__" in kin.members(line[number]):
        return _function(kin, line[number])
    return _fields(kin, line[number:])


def _is_called_otherwise(kin: Kin, place: Place) -> bool:
    """Return whether a metaclass or a decorator may exchange what a class is called by."""
    node = kin.lineage.node(place)
    return node is None or bool(node.keywords) or len(node.decorator_list) > (_dataclass(kin, place) is not None)


def _has_known_bases(kin: Kin, place: Place) -> bool:
    node, module = kin.lineage.node(place), kin.lineage.module(place[0])
    return bool(node and module) and all(
        kin.lineage.meant(place[0], base) or (module and full_names(module, base) <= _BARE)
        for base in (node.bases if node else ())
    )


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
