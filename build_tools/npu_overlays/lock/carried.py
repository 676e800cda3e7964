"""Carried operations: what they were written for in the lock they come from, against what they meet on this pin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from packaging.version import Version

from npu_overlays.errors import MergeError, OverlayError, Problem
from npu_overlays.lock.contracts import Contract, Difference, differences
from npu_overlays.lock.lockfile import Lock, load_lock
from npu_overlays.overlay.bounds import ALWAYS, Bounds
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.lookup import pins_on
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.project import Overlay

_LISTED = 5
_ANEW = "write it anew for this pin; operations name their symbols and cannot land elsewhere"
_Key = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """What operations were written for: the contracts of another pin.

    Args:
        name: what it is called in messages.
        version: upstream's there; None for the lock of an earlier pin in the same folder, for which all was written.
        lock: its lock.
    """

    name: str
    version: Version | None
    lock: Lock

    def holds(self, bounds: Bounds) -> bool:
        """Return whether something with these bounds is applied there."""
        return self.version is None or bounds.hold(self.version)

    def contract(self, key: _Key) -> Contract | None:
        """Return what an operation met there."""
        return next((entry for entry in self.lock.contracts if _key(entry) == key), None)

    def of_patch(self, name: str) -> list[Contract]:
        """Return what a patch changed there."""
        return [entry for entry in self.lock.contracts if entry.patch == name]


@dataclass(frozen=True, kw_only=True)
class Written:
    """By layer, the pins its operations were written for, the nearest first, and what is to be said of unread ones."""

    pins: Mapping[str, Sequence[Earlier]] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def at(self, layer: str, bounds: Bounds) -> list[Earlier]:
        """Return the pins, nearest first, at which something of a layer with these bounds is applied."""
        return [one for one in self.pins.get(layer, ()) if one.holds(bounds)]


def _key(entry: Contract) -> _Key:
    return (*entry.place, entry.operation)


def carried_over(
    content: Content,
    lock: Lock,
    *,
    before: Lock | None = None,
    absent: frozenset[str] = frozenset(),
    lock_of: Callable[[Overlay], Lock] = load_lock,
) -> list[str]:
    """Return a notice for every operation that meets another upstream here than the one it was written for.

    An operation of a layer is compared with the nearest earlier pin on that layer to which it applies, and when a pin
    older than all others is locked for the first time, with the nearest later one. Where the pin was changed in place,
    everything is compared with the lock in its folder.

    Args:
        content: the pin and its layers.
        lock: its lock.
        before: the lock that this one takes the place of.
        absent: paths the source at hand lacks; nothing is known of them.
        lock_of: gives the lock of another pin; may raise `ConfigError`.

    Raises:
        MergeError: where a patch changes other symbols than where it was written.
    """
    overlay = content.overlay
    written = _written(overlay, Version(lock.metadata.version), _of_another_pin(before, lock), lock_of)
    authors = _authors(content)
    notices = [*written.notices]
    problems: list[Problem] = []
    emptied = {(one.path, one.symbol): one for one in content.operations if one.emptying}
    notices += _of_emptied(overlay, lock, written, emptied.values())
    for entry in lock.contracts:
        if entry.operation != "patch" and entry.path not in absent and (entry.path, entry.symbol) not in emptied:
            notices += _compared(overlay, entry, written.at(*authors.get(_key(entry), (overlay.name, ALWAYS))))
    for patch in content.patches:
        pins = written.at(patch.layer, patch.bounds)
        here = [one for one in lock.contracts if one.patch == patch.path and one.path not in absent]
        there = [(pin.name, one) for pin in pins for one in pin.of_patch(patch.path) if one.path not in absent]
        there = [(name, one) for name, one in there if name == there[0][0]]
        problems += _moved(patch.file, here, there, own=bool(pins) and pins[0].version is None)
        notices += [text for entry in here for text in _compared(overlay, entry, pins, expected=False)]
    if problems:
        raise MergeError(problems)
    return notices


def _written(overlay: Overlay, version: Version, before: list[Earlier], lock_of: Callable[[Overlay], Lock]) -> Written:
    """Return what the operations of each layer were written for."""
    if before:
        return Written(pins={layer.name: before for layer in overlay.chain})
    pins: dict[str, list[Earlier]] = {}
    unread: dict[str, str] = {}
    first = not (overlay.folder / LOCK_FILE).is_file()
    for layer in overlay.layers:
        known: list[Earlier] = []
        silent: dict[str, str] = {}
        for pin in pins_on(layer, beside=overlay):
            try:
                lock = lock_of(pin)
            except OverlayError as error:
                silent[pin.name] = error.problems[0].what
                continue
            known.append(Earlier(name=pin.name, version=Version(lock.metadata.version), lock=lock))
        pins[layer.name] = _nearest(known, version, also_later=first)
        unread |= silent if not known else {}
    return Written(pins=pins, notices=tuple(_unread(overlay, name, why) for name, why in unread.items()))


def _nearest(known: list[Earlier], version: Version, *, also_later: bool) -> list[Earlier]:
    """Return pins in the order in which operations are compared with them."""
    dated = [(one.version, one) for one in known if one.version is not None]
    earlier = sorted((pair for pair in dated if pair[0] <= version), key=lambda pair: pair[0], reverse=True)
    later = sorted((pair for pair in dated if pair[0] > version), key=lambda pair: pair[0])
    return [one for _, one in (earlier or (later if also_later else []))]


def _unread(overlay: Overlay, name: str, why: str) -> str:
    return (
        f"{overlay.name}: what {name} was written for is not known ({LOCK_FILE}: {why}), so nothing was "
        f"compared with it: run `npu-overlays lock {name}`, then `npu-overlays lock {overlay.name}`"
    )


def _of_another_pin(before: Lock | None, lock: Lock) -> list[Earlier]:
    """Return the lock that was in the pin's own folder, where it was made for another pin."""
    if before is None or before.commit == lock.commit:
        return []
    return [Earlier(name=f"{LOCK_FILE} of {before.commit[:7]}", version=None, lock=before)]


def _authors(content: Content) -> dict[_Key, tuple[str, Bounds]]:
    """Return by contract which layer says so, and for which versions."""
    found: dict[_Key, tuple[str, Bounds]] = {
        (one.path, "", "", "edit"): (one.layer, one.bounds) for one in reversed(content.edits)
    }
    return found | {(one.path, one.symbol, "", one.action): (one.layer, one.bounds) for one in content.operations}


def _compared(overlay: Overlay, entry: Contract, pins: list[Earlier], *, expected: bool = True) -> Iterator[str]:
    """Yield what differs between a contract and what its operation was written for."""
    what = f"the {entry.operation} `{entry.path}{f':{entry.symbol}' if entry.symbol else ''}`"
    name, before = next(((pin.name, found) for pin in pins if (found := pin.contract(_key(entry)))), ("", None))
    if before and (changed := differences(before, entry)):
        yield f"{overlay.name}: look at {what}: since {name} upstream changed {_changed(entry, changed)}"
    elif expected and before is None and any(pin.version is not None for pin in pins):
        yield f"{overlay.name}: look at {what}: no lock says what it was written for"


def _of_emptied(overlay: Overlay, lock: Lock, written: Written, emptying: Iterable[Operation]) -> Iterator[str]:
    """Yield, for each module that is emptied, what has come into it since it was written that it be."""
    known = {(entry.path, entry.symbol): entry for entry in lock.contracts}
    new: dict[tuple[str, str], list[str]] = {}
    for one in emptying:
        entry = known.get((one.path, one.symbol))
        pins = written.at(one.layer, one.bounds)
        if entry and pins and not any(pin.contract(_key(entry)) for pin in pins):
            new.setdefault((one.path, pins[0].name), []).append(one.symbol)
    for (path, name), symbols in new.items():
        listed = ", ".join(f"`{symbol}`" for symbol in symbols[:_LISTED]) + ", …" * (len(symbols) > _LISTED)
        yield f"{overlay.name}: look at the emptied `{path}`: since {name} upstream put {listed} there"


def _changed(entry: Contract, found: Iterable[Difference]) -> str:
    return "the file" if entry.operation == "edit" else f"its {', '.join(map(str, found))}"


def _moved(file: str, here: list[Contract], there: list[tuple[str, Contract]], *, own: bool) -> Iterator[Problem]:
    """Yield a problem where a patch does not change what it changed where it was written."""
    now, before = _symbols_as_text(here), _symbols_as_text(entry for _, entry in there)
    if there and now != before:
        meant = f"{_ANEW}, or, where this is meant, delete {LOCK_FILE}"
        fix = meant if own else f"leave it out by [[tool.overlay.drop]] and {_ANEW}"
        yield Problem(where=file, what=f"changes {now} here, but {before} in {there[0][0]}", fix=fix)


def _symbols_as_text(entries: Iterable[Contract]) -> str:
    return ", ".join(sorted(f"`{one.path}:{one.symbol}` ({one.change})" for one in entries)) or "nothing"
