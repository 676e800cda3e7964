"""Constructors: class of upstream's → what it is called with, as text that is the same on every Python."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.fingerprint import brief
from npu_overlays.model.parts import parts
from npu_overlays.model.records import Field, Records
from npu_overlays.model.symbols import Symbol

_MAKING = ("__new__", "__init__")


def constructor_text(graph: ClassGraph, symbol: Symbol) -> str:
    """Return what a class is called with, `(self, a, b=1)`; `()` where its tree says nothing of that.

    Those are the parameters of its metaclass's `__call__`, and of its `__new__` and `__init__`, its own or a base's, or
    the fields of a record in order, or of a model of pydantic's by name.
    """
    records = Records(graph, lambda: True)
    line = graph.line(symbol)
    found = [next(filter(None, (_own(graph, records, one, name) for one in line)), "") for name in _MAKING]
    metaclass = (one for base in line for meta in _metaclasses(graph, base) for one in graph.line(meta))
    first = next(filter(None, (_own(graph, records, one, "__call__") for one in metaclass)), "")
    return " ".join(filter(None, [first, *found])) or _model(graph, line) or "()"


def _metaclasses(graph: ClassGraph, symbol: Symbol) -> Iterator[Symbol]:
    """Yield the metaclass that a class names, where that is upstream's."""
    node = graph.node(symbol)
    stated = (one.value for one in (node.keywords if node else ()) if one.arg == "metaclass")
    yield from filter(None, (graph.meant(symbol.path, value) for value in stated))


def _model(graph: ClassGraph, line: Sequence[Symbol]) -> str:
    """Return the fields of a model of pydantic's with those of its bases; nothing for another class."""
    bases = {graph.dotted(base) for one in line for base in graph.bases(one).stated}
    if not any(name.rpartition(".")[2] == "BaseModel" for name in bases):
        return ""
    nodes = (node for one in reversed(line) if (node := graph.node(one)))
    stated = [one for node in nodes for one in node.body if isinstance(one, ast.AnnAssign)]
    fields = {one.target.id: one.value for one in stated if isinstance(one.target, ast.Name)}
    shown = (f"{name}={brief(value)}" if value else name for name, value in fields.items())
    return f"({', '.join(['*', *shown])})" if fields else ""


def _own(graph: ClassGraph, records: Records, symbol: Symbol, name: str) -> str:
    known = [parts(one) for one in graph.definitions(symbol.member(name))]
    if known:
        return " or ".join(dict.fromkeys(one.get("signature", "") or one["body"] for one in known))
    taken = records.taken(symbol) if name == "__init__" else None
    return f"({', '.join(_written(taken))})" if taken is not None else ""


def _written(fields: list[Field]) -> list[str]:
    """Return fields as parameters are written."""
    shown = [f"{one.name}={brief(one.value)}" if one.value else one.name for one in fields]
    named = next((number for number, one in enumerate(fields) if one.kind == "kw"), None)
    return shown if named is None else [*shown[:named], "*", *shown[named:]]
