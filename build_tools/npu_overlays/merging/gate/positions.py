"""Positions: records of upstream's that take their arguments otherwise, since one of their bases was changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from npu_overlays.errors import listing
from npu_overlays.merging.gate.blame import Culprit, Report
from npu_overlays.merging.gate.examined import Examined
from npu_overlays.merging.gate.records import Place, Records


def report_positions(examined: Examined, report: Report) -> None:
    """Report fields of a record that move those of its heirs, and those that make a named tuple longer."""
    before, after = Records(examined.before), Records(examined.after)
    for path in sorted(examined.tree.changed):
        if examined.tree.before(path) is None or not path.endswith(".py"):
            continue
        for place in after.classes(path):
            gained = _gained(before, after, place)
            if gained and after.is_named_tuple(place):
                what = f"`{place[1]}` is a NamedTuple: with `{gained[0]}` it has another length for who unpacks it"
                report.add(_culprit(examined, place, gained), what, "add a property, or a class of your own")
            elif gained and (moved := list(_moved(examined, before, after, place))):
                what = f"the field `{gained[0]}` of `{place[1]}` moves the positional arguments of {listing(moved)}"
                fix = f"make it one that is given by name: `{gained[0]}: … = field(default=…, kw_only=True)`"
                report.add(_culprit(examined, place, gained), what, fix)


def _gained(before: Records, after: Records, place: Place) -> list[str]:
    """Return the fields of a class of upstream's that are not where upstream has them, new ones first."""
    old, new = ([one.name for one in records.fields(place) if one.positional] for records in (before, after))
    if before.node(place) is None or old == new:
        return []
    moved = [name for name in new if name in old and new.index(name) != old.index(name)]
    return [*(name for name in new if name not in old), *(name for name in old if name not in new), *moved]


def _moved(examined: Examined, before: Records, after: Records, base: Place) -> Iterator[str]:
    """Yield the heirs of a class whose own parameters are no longer where callers give them."""
    for heir in _heirs(examined, after, base):
        old, new = before.positions(heir), after.positions(heir)
        if old is not None and new is not None and new[: len(old)] != old:
            yield f"`{heir[1]}` ({heir[0]})"


def _heirs(examined: Examined, records: Records, base: Place) -> Iterator[Place]:
    """Yield the classes of the shipped modules that derive from a class; looking at all modules takes long."""
    texts = {path: examined.tree.after(path) or b"" for path in sorted(examined.after.modules.values())}
    texts = {path: content for path, content in texts.items() if path.endswith(".py")}
    pending, known = {base}, {base}
    while pending:
        words = set(_called(texts.values(), {_leaf(place).encode() for place in pending}))
        word = re.compile(rb"\b(?:%s)\b" % b"|".join(map(re.escape, sorted(words))))
        mentioning = (path for path, content in texts.items() if word.search(content))
        classes = {place for path in mentioning for place in records.classes(path)}
        pending = {place for place in classes - known if pending.intersection(records.bases(place))}
        known |= pending
        yield from sorted(pending)


def _called(texts: Iterable[bytes], names: set[bytes]) -> Iterator[bytes]:
    """Yield names and what else they may be called, by ``import … as`` or an assignment."""
    either = b"|".join(map(re.escape, sorted(names)))
    patterns = (rb"\b(?:%s)\s+as\s+(\w+)", rb"^(\w+)\s*=\s*(?:[\w.]+\.)?(?:%s)\s*$")
    otherwise = re.compile(b"|".join(pattern % either for pattern in patterns), re.MULTILINE)
    yield from names
    for content in texts:
        yield from (one for found in otherwise.findall(content) for one in found if one)


def _leaf(place: Place) -> str:
    return place[1].rpartition(".")[2]


def _culprit(examined: Examined, place: Place, names: list[str]) -> Culprit:
    path, symbol = place
    wanted = [*(f"{symbol}.{name}" for name in names), symbol]
    for operation in examined.content.operations:
        if operation.path == path and operation.symbol in wanted:
            return Culprit(file=operation.file, lines=(operation.line,))
    return examined.blame.taker(path, names[0])
