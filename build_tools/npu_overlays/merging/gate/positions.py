"""Positions: records of upstream's that take their arguments otherwise, since one of their bases was changed."""

from __future__ import annotations

from collections.abc import Iterator

from npu_overlays.errors import listing
from npu_overlays.merging.gate.blame import Report
from npu_overlays.merging.gate.examined import Examined
from npu_overlays.merging.gate.kin import Kin
from npu_overlays.merging.gate.lineage import Lineage, Place
from npu_overlays.merging.gate.records import Records


def report_positions(examined: Examined, report: Report) -> None:
    """Report fields of a record that move those of its heirs, and those that make a named tuple longer."""
    kin = Kin(examined.after)
    before, after = (
        Records(lineage, lambda: examined.glimpse.structs) for lineage in (Lineage(examined.before), kin.lineage)
    )
    for path in sorted(examined.tree.changed):
        if examined.tree.before(path) is None or not path.endswith(".py"):
            continue
        for place in kin.lineage.classes(path):
            gained = _gained(before, after, place)
            if gained and after.is_named_tuple(place):
                what = f"`{place[1]}` is a NamedTuple: with `{gained[0]}` it has another length for who unpacks it"
                report.add(examined.blame.changer(place, gained), what, "add a property, or a class of your own")
            elif gained and (shifted := _shifted(before, after, place)):
                what = (
                    f"`{place[1]}` takes `{shifted[0]}` in another place: who gives it by position gives another field"
                )
                fix = "keep upstream's fields in their places, and put new ones behind them"
                report.add(examined.blame.changer(place, [*gained, *shifted]), what, fix)
            elif gained and (moved := list(_moved(kin, before, after, place))):
                what = f"the field `{gained[0]}` of `{place[1]}` moves the positional arguments of {listing(moved)}"
                fix = f"make it one that is given by name: `{gained[0]}: … = field(default=…, kw_only=True)`"
                report.add(examined.blame.changer(place, gained), what, fix)


def _gained(before: Records, after: Records, place: Place) -> list[str]:
    """Return the fields of a class of upstream's that are not where upstream has them, new ones first."""
    old, new = ([one.name for one in records.fields(place) if one.kind == "|"] for records in (before, after))
    if before.lineage.node(place) is None or old == new:
        return []
    moved = [name for name in new if name in old and new.index(name) != old.index(name)]
    return [*(name for name in new if name not in old), *(name for name in old if name not in new), *moved]


def _shifted(before: Records, after: Records, place: Place) -> list[str]:
    """Return the parameters of a class that are no longer where its own callers give them."""
    old, new = before.positions(place) or [], after.positions(place) or []
    return [name for at, name in enumerate(old) if name in new and new.index(name) != at]


def _moved(kin: Kin, before: Records, after: Records, base: Place) -> Iterator[str]:
    """Yield the heirs of a class whose own parameters are no longer where callers give them."""
    for heir in kin.heirs(base):
        old, new = before.positions(heir), after.positions(heir)
        if old is not None and new is not None and new[: len(old)] != old:
            yield f"`{heir[1]}` ({heir[0]})"
