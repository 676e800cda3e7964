"""Lock groups: entries of a lock that differ only in their owner → one entry, and back.

Definitions of one form have the same dependencies. ``each`` lists them, by path or by path and class, and
``*`` in the other texts stands for one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from npu_overlays.model.selectors import leaf_of, owner_of, plain

Entry = Mapping[str, Any]

_ANY = "*"
_EACH = "each"
# Two entries alike are read more easily one by one.
_FEWEST = 3


def grouped(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries of one kind, with equal ones joined at the place of the first."""
    groups: dict[str, list[tuple[str, Entry]]] = {}
    alone = list(entries)
    for entry in alone:
        name = _name(entry)
        common = _common(entry, name)
        if next(_of_group({**common, _EACH: [name]})) == entry:
            groups.setdefault(repr(sorted(common.items())), []).append((name, entry))
    taken: dict[int, Entry | None] = {}
    for members in groups.values():
        if len(members) >= _FEWEST:
            (first, entry), *others = members
            taken |= {id(other): None for _, other in others}
            taken[id(entry)] = {_EACH: sorted([first, *(name for name, _ in others)]), **_common(entry, first)}
    return [one for entry in alone if (one := taken.get(id(entry), entry)) is not None]


def each(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Expand the entries of a lock; damaged ones raise what `loaded` catches."""
    for entry in entries:
        if _EACH in entry:
            yield from _of_group(entry)
        else:
            yield entry


def _name(entry: Entry) -> str:
    """Return an entry's owner: a class, with its path; for a symbol of the module, the path alone."""
    owner = owner_of(plain(entry.get("symbol", "")))
    return f"{entry['path']}:{owner}" if owner else str(entry["path"])


def _common(entry: Entry, name: str) -> dict[str, Any]:
    """Return an entry with ``*`` instead of its owner."""
    path, _, owner = name.partition(":")
    common = {key: value for key, value in entry.items() if key != "path"}
    common["symbol"] = _ANY + str(entry.get("symbol", "")).removeprefix(owner)
    if owner and "owner" in common:
        common["owner"] = common["owner"].replace(f"{leaf_of(owner)}(", f"{_ANY}(")
    if "by" in common:
        place = name if owner else f"{path}:"
        common["by"] = [one.replace(place, _ANY if owner else f"{_ANY}:") for one in common["by"]]
    return common


def _of_group(group: Entry) -> Iterator[Entry]:
    for name in group[_EACH]:
        path, _, owner = name.partition(":")
        entry: dict[str, Any] = {"path": path}
        entry |= {key: value for key, value in group.items() if key != _EACH}
        entry["symbol"] = entry["symbol"].replace(_ANY, owner, 1)
        if "owner" in entry:
            entry["owner"] = entry["owner"].replace(f"{_ANY}(", f"{leaf_of(owner)}(")
        if "by" in entry:
            entry["by"] = [one.replace(_ANY, name, 1) for one in entry["by"]]
        yield entry
