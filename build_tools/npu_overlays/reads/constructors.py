"""Constructors: class of upstream's → what it is called with, as text that is the same on every Python."""

from __future__ import annotations

from npu_overlays.merging.gate.kin import Kin
from npu_overlays.merging.gate.lineage import Place
from npu_overlays.merging.gate.records import Field, Records
from npu_overlays.merging.upstream.parts import parts
from npu_overlays.syntax.fingerprint import brief

_MAKING = ("__new__", "__init__")


def constructor(kin: Kin, place: Place) -> str:
    """Return what a class is called with, `(self, a, b=1)`; `()` where its tree says nothing of that.

    Those are the parameters of its `__new__` and `__init__`, its own or a base's, or the fields of a record in order.
    """
    records = Records(kin.lineage, lambda: True)
    line = kin.line(place)
    found = (next(filter(None, (_own(kin, records, one, name) for one in line)), "") for name in _MAKING)
    return " ".join(filter(None, found)) or "()"


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
