"""Collisions: files of a wheel, and which are new → conflicting paths.

Conflicts among upstream's own files are upstream's business.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from npu_overlays.checks.context import CheckContext
from npu_overlays.errors import Problem, listing
from npu_overlays.model.shipped_modules import EXTENSIONS, is_package_file, module_name
from npu_overlays.paths import unsafe

_ANOTHER_NAME = "give it another name"
# What Windows cannot have as a file; the name before the first dot decides.
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])", re.IGNORECASE)
_FORBIDDEN = frozenset('<>:"|?*')
_LONGEST = 255
# What Python looks for first stands first.
_PACKAGE, _EXTENSION, _PYTHON, _FOLDER = range(4)


@dataclass(frozen=True, kw_only=True)
class Collision:
    """What is wrong with one new file, and what to do about it."""

    place: str
    what: str
    fix: str


def collision_problems(context: CheckContext) -> list[Problem]:
    """Return a problem for each of the overlay's files that conflicts with another, or cannot be installed."""
    place, absent = cache(context.pin.place), context.before.absent
    paths = [path for path in context.tree.paths() if place(path)] + sorted(filter(place, absent))
    new = [path for path in paths if path not in context.tree.upstream and path not in absent]
    sharing: dict[str, list[str]] = {}
    for path in paths:
        sharing.setdefault(place(path), []).append(path)
    found: list[tuple[str, str, str]] = []
    for path in new:
        for other in sharing[place(path)]:
            if other != path:
                found.append((path, f"would lie in the wheel where {other} lies", _ANOTHER_NAME))
    named = {place(path): path for path in new}
    reserved = [context.content.overlay.summary_package]
    for one in collisions(map(place, paths), named, reserved=reserved):
        found.append((named[one.place], one.what, one.fix))
    labels = {file.path: file.file for file in context.content.files}
    problems: list[Problem] = []
    for path, what, fix in found:
        where = labels.get(path) or context.attribution.taker(path, "").where
        problems.append(Problem(where=where, what=what, fix=fix))
    return problems


def collisions(places: Iterable[str], new: Iterable[str], *, reserved: Iterable[str] = ()) -> list[Collision]:
    """Return the conflicts of a wheel's new files.

    Args:
        places: every file of the wheel, the new ones included.
        new: those the overlay brings.
        reserved: names at the top of the wheel that the tool itself uses.
    """
    fresh = sorted(set(new))
    everything = sorted({*places, *fresh})
    names = frozenset(map(_folded, reserved))
    found: list[Collision] = []
    for place in fresh:
        found += _unholdable(place, names)
    for check in (_file_and_folder, _same_to_some, _same_module, _closed_namespace):
        hit = {collision.place for collision in found}
        found += [collision for collision in check(everything, frozenset(fresh)) if collision.place not in hit]
    return found


def _unholdable(place: str, reserved: frozenset[str]) -> Iterator[Collision]:
    """Yield why a file of that name cannot be installed everywhere."""
    parts = place.split("/")
    reasons = {
        f"its path {unsafe(place)}": bool(unsafe(place)),
        "Windows has no such file name": any(map(_not_on_windows, parts)),
        f"a name in it is longer than {_LONGEST} bytes": any(len(part.encode()) > _LONGEST for part in parts),
        f"`{parts[0]}` in the wheel is the tool's own": _folded(parts[0]) in reserved
        or parts[0].endswith((".dist-info", ".data")),
    }
    for what, applies in reasons.items():
        if applies:
            yield Collision(place=place, what=what, fix=_ANOTHER_NAME)


def _not_on_windows(part: str) -> bool:
    device = _DEVICE.fullmatch(part.partition(".")[0].rstrip())
    return bool(device or _FORBIDDEN & set(part) or part.endswith((".", " ")))


def _folded(name: str) -> str:
    """Return a name as file systems compare it that ignore case or the spelling of accents."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _folders(place: str) -> Iterator[str]:
    while "/" in place:
        place = place.rpartition("/")[0]
        yield place


def _file_and_folder(places: list[str], new: frozenset[str]) -> Iterator[Collision]:
    holding: dict[str, str] = {}
    for place in places:
        for folder in _folders(place):
            holding.setdefault(folder, place)
    for place in places:
        inside = holding.get(place)
        if inside and place in new:
            yield Collision(place=place, what=f"{place} is a folder, with {inside} in it", fix=_ANOTHER_NAME)
        elif inside:
            for other in new:
                if other.startswith(f"{place}/"):
                    yield Collision(place=other, what=f"{place} is a file, not a folder", fix="put it elsewhere")


def _same_to_some(places: list[str], new: frozenset[str]) -> Iterator[Collision]:
    """Yield new files and folders whose name differs from another's in case or in the spelling of accents only."""
    spelled: dict[str, set[str]] = {}
    old: set[str] = set()
    reported: set[frozenset[str]] = set()
    for place in places:
        for path in (place, *_folders(place)):
            spelled.setdefault(_folded(path), set()).add(path)
            if place not in new:
                old.add(path)
    for place in sorted(new):
        # The outermost folder that differs stands for everything below it.
        for path in reversed([place, *_folders(place)]):
            others = spelled[_folded(path)] - {path}
            if not others or path in old:
                continue
            pair = frozenset({path, min(others)})
            if pair not in reported:
                what = f"{path} and {min(others)} are one file or folder where case and accents do not count"
                yield Collision(place=place, what=what, fix=_ANOTHER_NAME)
            reported.add(pair)
            break


def _same_module(places: list[str], new: frozenset[str]) -> Iterator[Collision]:
    """Yield new files that hide another module, or are hidden by one."""
    named: dict[str, list[str]] = {}
    for place in places:
        own = module_name(place)
        namespaces = [folder.replace("/", ".") for folder in _folders(place)] if own else []
        for name in {own, *namespaces} - {""}:
            named.setdefault(name, []).append(place)
    for name, files in named.items():
        ranked = sorted((_rank(place, name), place) for place in files)
        first, taken = ranked[0]
        if first == _PACKAGE:
            ranked = [(rank, place) for rank, place in ranked if rank != _FOLDER]
        for rank, place in ranked:
            rivals = [other for other_rank, other in ranked if other_rank != rank]
            if place not in new or not rivals:
                continue
            what = f"it would never be imported: Python takes {taken} for `{name}`"
            if rank == first:
                what = f"Python would take it for `{name}` and never import {listing(rivals, 3)}"
            fix = "change upstream's file under its own path, or rename this one"
            yield Collision(place=place, what=what, fix=fix)


def _rank(place: str, name: str) -> int:
    if module_name(place) != name:
        return _FOLDER
    return _PACKAGE if is_package_file(place) else _EXTENSION if place.endswith(EXTENSIONS) else _PYTHON


def _closed_namespace(places: list[str], new: frozenset[str]) -> Iterator[Collision]:
    """Yield every ``__init__`` that would close a namespace other distributions share."""
    initialised = {place.rpartition("/")[0] for place in places if is_package_file(place) and place not in new}
    for place in sorted(new):
        folder = place.rpartition("/")[0]
        shared = not any(outer in initialised for outer in _folders(folder))
        old = any(other.startswith(f"{folder}/") and module_name(other) and other not in new for other in places)
        if is_package_file(place) and module_name(place) and folder not in initialised and shared and old:
            what = f"{folder} has no __init__.py upstream: with one, what other distributions have in it is not found"
            yield Collision(place=place, what=what, fix="leave it out")
