"""Constructors: class of upstream's → what it is called with, as text that is the same on every Python."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from npu_overlays.merging.gate.kin import Kin
from npu_overlays.merging.gate.lineage import Place
from npu_overlays.merging.gate.records import Field, Records
from npu_overlays.merging.upstream.parts import parts
from npu_overlays.syntax.aliases import full_names
from npu_overlays.syntax.fingerprint import brief

_MAKING = ("__new__", "__init__")


def constructor(kin: Kin, place: Place) -> str:
    """Return what a class is called with, `(self, a, b=1)`; `()` where its tree says nothing of that.

    Those are the parameters of its metaclass's `__call__`, and of its `__new__` and `__init__`, its own or a base's, or
    the fields of a record in order, or of a model of pydantic's by name.
    """
    records = Records(kin.lineage, lambda: True)
    line = kin.line(place)
    found = [next(filter(None, (_own(kin, records, one, name) for one in line)), "") for name in _MAKING]
    metaclass = (one for base in line for meta in _metaclasses(kin, base) for one in kin.line(meta))
    first = next(filter(None, (_own(kin, records, one, "__call__") for one in metaclass)), "")
    return " ".join(filter(None, [first, *found])) or _model(kin, line) or "()"


def _metaclasses(kin: Kin, place: Place) -> Iterator[Place]:
    """Yield the metaclass that a class names, where that is upstream's."""
    node = kin.lineage.node(place)
    stated = (one.value for one in (node.keywords if node else ()) if one.arg == "metaclass")
    yield from filter(None, (kin.meant(place[0], value) for value in stated))


def _model(kin: Kin, line: Sequence[Place]) -> str:
    """Return the fields of a model of pydantic's with those of its bases; nothing for another class."""
    pairs = [
        (node, module) for one in line if (node := kin.lineage.node(one)) and (module := kin.lineage.module(one[0]))
    ]
    bases = {name for node, module in pairs for base in node.bases for name in full_names(module, base)}
    if not any(name.rpartition(".")[2] == "BaseModel" for name in bases):
        return ""
    stated = [one for node, _ in reversed(pairs) for one in node.body if isinstance(one, ast.AnnAssign)]
    fields = {one.target.id: one.value for one in stated if isinstance(one.target, ast.Name)}
    shown = (f"{name}={brief(value)}" if value else name for name, value in fields.items())
    return f"({', '.join(['*', *shown])})" if fields else ""


def _own(kin: Kin, records: Records, place: Place, name: str) -> str:
    module = kin.lineage.module(place[0])
    known = [parts(one) for one in module.definitions.get(f"{place[1]}.{name}", [])] if module else []
    if known:
        return " or ".join(dict.fromkeys(one.get("signature", "") or one["body"] for one in known))
    taken = records.taken(place) if name == "__init__" else None
    return f"({', '.join(_written(taken))})" if taken is not None else ""


def _written(fields: list[Field]) -> list[str]:
    """Return fields as parameters are written."""
    shown = [f"{one.name}={brief(one.value)}" if one.value else one.name for one in fields]
    named = next((number for number, one in enumerate(fields) if one.kind == "kw"), None)
    return shown if named is None else [*shown[:named], "*", *shown[named:]]
