"""Contract drift: the contracts that operations were written for, compared with those on this pin.

A lock holds these notices too, as `Lock.told`, so a review of the lock covers them. A build or check shows only those
that are not in the lock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from npu_overlays.contracts.baselines import Baseline, Baselines, Key, baselines_of, key_of
from npu_overlays.contracts.changed_reads import changed_reads
from npu_overlays.contracts.contracts import Contract, differences
from npu_overlays.contracts.lockfile import Lock, load_lock
from npu_overlays.contracts.overlay_code import readers
from npu_overlays.errors import MergeError, Problem
from npu_overlays.model.symbol_lookup import SymbolLookup
from npu_overlays.overlay.bounds import ALWAYS, Bounds
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.layer_content import OverlayFile
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.project import Overlay

_LISTED = 5
_LINE = re.compile(r"(?<=\.py):[0-9]+")
_ANEW = "write it anew for this pin; operations name their symbols and cannot land elsewhere"


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
    if problems:
        raise MergeError(problems)
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
            meant = f"{_ANEW}, or, where this is meant, delete {LOCK_FILE}"
            fix = meant if pins[0].version is None else f"leave it out by [[tool.overlay.drop]] and {_ANEW}"
            yield Problem(where=patch.file, what=f"changes {now} here, but {before} in {pin.name}", fix=fix)
        return


def _symbols_as_text(entries: Iterable[Contract]) -> str:
    return ", ".join(sorted(f"`{one.path}:{one.symbol}` ({one.change})" for one in entries)) or "nothing"
