"""Carried operations: what they were written for in the lock they come from, against what they meet on this pin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from npu_overlays.errors import ConfigError, MergeError, Problem
from npu_overlays.lock.contracts import Contract, Difference, differences
from npu_overlays.lock.lockfile import Lock, load_lock
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.lookup import lineage
from npu_overlays.overlay.project import Overlay

_ANEW = "write it anew for this pin; operations name their symbols and cannot land elsewhere"


@dataclass(frozen=True, kw_only=True)
class Written:
    """What operations were written for: the contracts of another pin, each with the overlay whose lock has it."""

    contracts: Mapping[tuple[str, ...], tuple[str, Contract]] = field(default_factory=dict)

    def of_patch(self, name: str) -> list[tuple[str, Contract]]:
        """Return what a patch changed there."""
        return [pair for pair in self.contracts.values() if pair[1].patch == name]


def written_for(locks: Iterable[tuple[str, Lock]]) -> Written:
    """Return the contracts of several locks; later ones count."""
    pairs = ((name, entry) for name, lock in locks for entry in lock.contracts)
    return Written(contracts={_key(entry): (name, entry) for name, entry in pairs})


def _key(entry: Contract) -> tuple[str, ...]:
    return (*entry.place, entry.operation)


def carried_over(
    content: Content, lock: Lock, *, before: Lock | None = None, absent: frozenset[str] = frozenset()
) -> list[str]:
    """Return a notice for every operation that meets another upstream here than the one it was written for.

    An inherited operation is compared with the lock of the nearest overlay it comes through; an operation of this
    overlay's own with the lock in its folder, where that was made for another pin.

    Args:
        content: the overlay.
        lock: its lock.
        before: the lock that this one takes the place of.
        absent: paths the source at hand lacks; nothing is known of them.

    Raises:
        MergeError: where a patch changes other symbols than where it was written.
    """
    overlay = content.overlay
    bases, unknown = _bases(overlay)
    notices = [*unknown]
    inherited, own = written_for(bases), written_for(_of_another_pin(before, lock))
    authors = _authors(content)
    problems: list[Problem] = []
    for entry in lock.contracts:
        if entry.operation != "patch" and entry.path not in absent:
            theirs = authors.get(_key(entry), overlay.name) != overlay.name
            notices += _told(overlay, entry, inherited if theirs else own, expected=theirs and not unknown)
    for patch in content.patches:
        source = inherited if patch.overlay != overlay.name else own
        here = [one for one in lock.contracts if one.patch == patch.path and one.path not in absent]
        there = [pair for pair in source.of_patch(patch.path) if pair[1].path not in absent]
        problems += _moved(patch.file, here, there, own=source is own)
        notices += [text for entry in here for text in _told(overlay, entry, source, expected=False)]
    if problems:
        raise MergeError(problems)
    return notices


def _bases(overlay: Overlay) -> tuple[list[tuple[str, Lock]], list[str]]:
    """Return the locks of the overlays an overlay extends, oldest first, and what is to be said of unreadable ones."""
    locks = []
    notices = []
    for base in lineage(overlay)[:-1]:
        try:
            locks.append((base.name, load_lock(base)))
        except ConfigError as error:
            why = error.problems[0].what
            notices.append(
                f"{overlay.name}: what {base.name} was written for is not known ({LOCK_FILE}: {why}), so nothing was "
                f"compared with it: run `npu-overlays lock {base.name}`, then `npu-overlays lock {overlay.name}`"
            )
    return locks, notices


def _of_another_pin(before: Lock | None, lock: Lock) -> list[tuple[str, Lock]]:
    """Return the lock that was in the overlay's own folder, where it was made for another pin."""
    return [(f"{LOCK_FILE} of {before.commit[:7]}", before)] if before and before.commit != lock.commit else []


def _authors(content: Content) -> dict[tuple[str, ...], str]:
    """Return by contract which overlay says so."""
    edits: dict[tuple[str, ...], str] = {(one.path, "", "", "edit"): one.overlay for one in reversed(content.edits)}
    return {**edits, **{(one.path, one.symbol, "", one.action): one.overlay for one in content.operations}}


def _told(overlay: Overlay, entry: Contract, written: Written, *, expected: bool) -> Iterator[str]:
    """Yield what differs between a contract and what its operation was written for."""
    what = f"the {entry.operation} `{entry.path}{f':{entry.symbol}' if entry.symbol else ''}`"
    name, before = written.contracts.get(_key(entry), ("", None))
    if before and (found := differences(before, entry)):
        yield f"{overlay.name}: look at {what}: since {name} upstream changed {_changed(entry, found)}"
    elif expected and before is None:
        yield f"{overlay.name}: look at {what}: no lock says what it was written for"


def _changed(entry: Contract, found: Iterable[Difference]) -> str:
    return "the file" if entry.operation == "edit" else f"its {', '.join(map(str, found))}"


def _moved(file: str, here: list[Contract], there: list[tuple[str, Contract]], *, own: bool) -> Iterator[Problem]:
    """Yield a problem where a patch does not change what it changed where it was written."""
    now, before = _listed(here), _listed(entry for _, entry in there)
    if there and now != before:
        meant = f"{_ANEW}, or, where this is meant, delete {LOCK_FILE}"
        fix = meant if own else f"name it in tool.overlay.drop and {_ANEW}"
        yield Problem(where=file, what=f"changes {now} here, but {before} in {there[0][0]}", fix=fix)


def _listed(entries: Iterable[Contract]) -> str:
    return ", ".join(sorted(f"`{one.path}:{one.symbol}` ({one.change})" for one in entries)) or "nothing"
