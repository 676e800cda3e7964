"""Contract drift: the contracts that operations were written for, compared with those on this pin.

The baselines of a layer are the locks of the pins that its operations were written for.
A lock holds these notices too, as `Lock.told`, so a review of the lock covers them. A build or check shows only those
that are not in the lock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from packaging.version import Version

from npu_overlays.contracts.changed_reads import changed_reads
from npu_overlays.contracts.contracts import Contract, differences
from npu_overlays.contracts.lockfile import Lock, load_lock
from npu_overlays.contracts.overlay_code import readers
from npu_overlays.errors import MergeError, OverlayError, Problem
from npu_overlays.model.symbol_lookup import SymbolLookup
from npu_overlays.overlay.bounds import ALWAYS, Bounds
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.layer_content import OverlayFile
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.overlay_folders import pins_on
from npu_overlays.overlay.project import Overlay

_LISTED = 5
_LINE = re.compile(r"(?<=\.py):[0-9]+")
_ANEW = "make it again for this pin, or write it as operations, which name their symbols"
Key = tuple[str, ...]


def drift_notices(
    content: Content,
    lock: Lock,
    upstream: SymbolLookup,
    *,
    before: Lock | None = None,
    lock_of: Callable[[Overlay], Lock] = load_lock,
) -> list[str]:
    """Return a notice for every operation whose upstream differs here from the one it was written for.

    An operation of a layer is compared with the nearest earlier pin on that layer to which it applies. If a pin older
    than all others is locked for the first time, it is compared with the nearest later one. If the pin was changed in
    place, everything is compared with the lock in its folder.

    Args:
        content: the pin and its layers.
        lock: its lock.
        upstream: its upstream; absent files are not compared.
        before: the lock that this one replaces.
        lock_of: gives the lock of another pin; may raise `ConfigError`.

    Raises:
        MergeError: a patch changes other symbols than those it was written for.
    """
    first = not (content.overlay.folder / LOCK_FILE).is_file()
    written = baselines_of(content.overlay, lock, before, lock_of, first=first)
    return [*written.notices, *_notices_of(content, lock, upstream, written)]


def standing_notices(content: Content, lock: Lock, upstream: SymbolLookup) -> list[str]:
    """Return the notices that any build shows: not those of a pin changed in place, or locked for the first time."""
    written = baselines_of(content.overlay, lock, None)
    return list(map(without_lines, _notices_of(content, lock, upstream, written)))


def without_lines(notice: str) -> str:
    """Return a notice without line numbers of the overlay, since any change above moves them."""
    return _LINE.sub("", notice)


def _notices_of(content: Content, lock: Lock, upstream: SymbolLookup, written: Baselines) -> list[str]:
    overlay, absent = content.overlay, upstream.absent
    authors: dict[Key, tuple[str, Bounds]] = {}
    for edit in reversed(content.edits):
        authors[edit.path, "", "", edit.edit.find, "edit"] = edit.layer, edit.bounds
    for one in content.operations:
        authors[one.path, one.symbol, "", "", one.action] = one.layer, one.bounds
    problems: list[Problem] = []
    emptied = {(one.path, one.symbol): one for one in content.operations if one.emptying}
    notices = [*_of_emptied(overlay, lock, written, emptied.values())]
    known = [entry for entry in lock.contracts if entry.path not in absent]
    # What is found by its form was written for the model.
    found = {(one.path, one.symbol) for one in content.operations if one.like}
    for entry in known:
        place = entry.path, entry.symbol
        if entry.operation != "patch" and place not in emptied:
            pins = written.at(*authors.get(key_of(entry), (overlay.name, ALWAYS)))
            notices += _compared(overlay, entry, pins, expected=place not in found)
    for patch in content.patches:
        pins = written.at(patch.layer, patch.bounds)
        here = [entry for entry in known if entry.patch == patch.path]
        problems += _moved(patch, here, pins, absent)
        for entry in here:
            notices += _compared(overlay, entry, pins, expected=False)
    notices += _of_reads(content, upstream, written)
    MergeError.raise_for(problems)
    return notices


def _of_reads(content: Content, upstream: SymbolLookup, written: Baselines) -> Iterator[str]:
    """Yield each symbol that differs from the one its readers were written for."""
    groups: dict[str, tuple[Baseline, list[str]]] = {}
    for reader, (layer, bounds) in readers(content).items():
        for pin in written.at(layer, bounds)[:1]:
            groups.setdefault(pin.name, (pin, []))[1].append(reader)
    for pin, those in groups.values():
        before = [read.read_by(those) for read in pin.lock.reads]
        for one in changed_reads(before, upstream, content):
            yield f"{content.overlay.name}: look at {one.shown_places()}: since {pin.name} upstream changed {one}"


def _compared(overlay: Overlay, entry: Contract, pins: list[Baseline], *, expected: bool = True) -> Iterator[str]:
    """Yield the differences between a contract and the one its operation was written for."""
    for pin in pins:
        if before := pin.contract(key_of(entry)):
            if changed := ", ".join(map(str, differences(before, entry))):
                yield f"{overlay.name}: look at {entry}: since {pin.name} upstream changed its {changed}"
            return
    if expected and any(pin.version is not None for pin in pins):
        yield f"{overlay.name}: look at {entry}: no lock says what it was written for"


def _of_emptied(overlay: Overlay, lock: Lock, written: Baselines, emptying: Iterable[Operation]) -> Iterator[str]:
    """Yield, for each emptied module, the symbols that upstream has added to it since."""
    known = {(entry.path, entry.symbol): entry for entry in lock.contracts}
    new: dict[tuple[str, str], list[str]] = {}
    for one in emptying:
        entry = known.get((one.path, one.symbol))
        pins = written.at(one.layer, one.bounds)
        if entry and pins and not any(pin.contract(key_of(entry)) for pin in pins):
            new.setdefault((one.path, pins[0].name), []).append(one.symbol)
    for (path, name), symbols in new.items():
        listed = ", ".join(f"`{symbol}`" for symbol in symbols[:_LISTED]) + ", …" * (len(symbols) > _LISTED)
        yield f"{overlay.name}: look at the emptied `{path}`: since {name} upstream put {listed} there"


def _moved(patch: OverlayFile, here: list[Contract], pins: list[Baseline], absent: frozenset[str]) -> Iterator[Problem]:
    """Yield a problem for each patch that changes other symbols than those it was written for."""
    for pin in pins:
        there = [entry for entry in pin.of_patch(patch.path) if entry.path not in absent]
        if not there:
            continue
        now, before = _symbols_as_text(here), _symbols_as_text(there)
        if now != before:
            meant = f"{_ANEW}; where this is meant, delete {LOCK_FILE}"
            fix = meant if pins[0].version is None else f"leave it out by [[tool.overlay.drop]] and {_ANEW}"
            yield Problem(where=patch.file, what=f"changes {now} here, but {before} in {pin.name}", fix=fix)
        return


def _symbols_as_text(entries: Iterable[Contract]) -> str:
    return ", ".join(sorted(f"`{one.path}:{one.symbol}` ({one.change})" for one in entries)) or "nothing"


def key_of(entry: Contract) -> Key:
    """Return the key by which contracts of one operation on different pins match."""
    return (*entry.place, entry.operation)


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """The contracts of another pin, for which operations were written."""

    name: str  # what it is called in messages
    version: Version | None  # upstream's; None for an earlier pin's lock in the same folder: all was written for it
    lock: Lock

    def holds(self, bounds: Bounds) -> bool:
        """Return whether an item with these bounds applies there."""
        return self.version is None or bounds.hold(self.version)

    def contract(self, key: Key) -> Contract | None:
        """Return an operation's contract there."""
        return next((entry for entry in self.lock.contracts if key_of(entry) == key), None)

    def of_patch(self, name: str) -> list[Contract]:
        """Return the symbols that a patch changed there."""
        return [entry for entry in self.lock.contracts if entry.patch == name]


@dataclass(frozen=True, kw_only=True)
class Baselines:
    """By layer, the pins its operations were written for, nearest first, and notices about unreadable locks."""

    pins: Mapping[str, Sequence[Baseline]] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def at(self, layer: str, bounds: Bounds) -> list[Baseline]:
        """Return the pins, nearest first, at which an item of a layer with these bounds applies."""
        return [one for one in self.pins.get(layer, ()) if one.holds(bounds)]


def baselines_of(
    overlay: Overlay,
    lock: Lock,
    before: Lock | None,
    lock_of: Callable[[Overlay], Lock] = load_lock,
    *,
    first: bool = False,
) -> Baselines:
    """Return the baselines of each layer of a pin.

    Args:
        overlay: the pin and its layers.
        lock: its lock.
        before: the lock that this one replaces; if it was made for another pin, everything was written for that.
        lock_of: gives the lock of another pin; may raise `ConfigError`.
        first: whether the pin is locked for the first time: older than all others, it is compared with the next later.
    """
    if in_place := _of_another_pin(before, lock):
        return Baselines(pins={layer.name: in_place for layer in overlay.chain})
    version = Version(lock.metadata.version)
    pins: dict[str, list[Baseline]] = {}
    unread: dict[str, str] = {}
    for layer in overlay.layers:
        known: list[tuple[Version, Baseline]] = []
        silent: dict[str, str] = {}
        for pin in pins_on(layer, beside=overlay):
            try:
                theirs = lock_of(pin)
            except OverlayError as error:
                silent[pin.name] = _unread(overlay, pin, error.problems[0].what)
                continue
            dated = Version(theirs.metadata.version)
            known.append((dated, Baseline(name=pin.name, version=dated, lock=theirs)))
        pins[layer.name] = _nearest(known, version, also_later=first)
        unread |= silent if not known else {}
    return Baselines(pins=pins, notices=tuple(unread.values()))


def _nearest(known: list[tuple[Version, Baseline]], version: Version, *, also_later: bool) -> list[Baseline]:
    """Return pins in the order of comparison, nearest first."""
    found = sorted((pair for pair in known if pair[0] <= version), key=lambda pair: pair[0], reverse=True)
    if not found and also_later:
        found = sorted(known, key=lambda pair: pair[0])
    return [one for _, one in found]


def _unread(overlay: Overlay, pin: Overlay, why: str) -> str:
    return (
        f"{overlay.name}: what {pin.name} was written for is not known ({LOCK_FILE}: {why}), so nothing was "
        f"compared with it: run `npu-overlays lock {pin.argument}`, then `npu-overlays lock {overlay.argument}`"
    )


def _of_another_pin(before: Lock | None, lock: Lock) -> list[Baseline]:
    """Return the earlier lock of the pin's own folder, if it was made for another pin."""
    if before is None or before.commit == lock.commit:
        return []
    return [Baseline(name=f"{LOCK_FILE} of {before.commit[:7]}", version=None, lock=before)]
