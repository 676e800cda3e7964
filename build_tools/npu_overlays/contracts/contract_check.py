"""Contract check: the contracts of a lock and of the current source → broken contracts, and notices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from npu_overlays.contracts.contracts import FAR, OWN, Contract, ContractPlace, differences, needed
from npu_overlays.errors import MergeError, Problem
from npu_overlays.model.selectors import leaf_of
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.operations import Operation


def check_contracts(
    contracts: Iterable[Contract],
    actual: Iterable[Contract],
    operations: Iterable[Operation],
    *,
    overlay: str,
    argument: str,
) -> list[str]:
    """Compare the locked contracts with the current source.

    Args:
        contracts: of the lock.
        actual: of the same operations on the current source.
        operations: the operations, for messages.
        overlay: name of the overlay, for messages.
        argument: its name on a command line.

    Returns:
        Notices of changes that do not break a contract.

    Raises:
        MergeError: with every broken, missing and superfluous contract.
    """
    locked = {entry.place: entry for entry in contracts}
    now = {entry.place: entry for entry in actual}
    where = _places(operations)
    again = f"run `npu-overlays lock {argument}`"
    problems = []
    notices = []
    for place, entry in now.items():
        at = where.get(place) or (f"{overlay}: {entry.patch}" if entry.patch else overlay)
        known = locked.get(place)
        if known is None or known.operation != entry.operation:
            symbol = f" `{entry.symbol}`" if entry.symbol else ""
            what = f"the {entry.operation}{symbol} of {entry.path} is not in {LOCK_FILE}"
            problems.append(Problem(where=at, what=what, fix=f"review it, then {again}"))
        elif hard := _differing_parts(known, entry, hard=True):
            what = f"upstream's {hard} of `{entry.symbol}` in {entry.path} is no longer what this was written for"
            problems.append(Problem(where=at, what=what, fix=f"adapt the operation, then {again}"))
        else:
            notices += [f"{at}: {notice}" for notice in _harmless(known, entry, again)]
    problems += list(_superfluous(locked, now, overlay, again))
    MergeError.raise_for(problems)
    return notices


def _harmless(locked: Contract, now: Contract, again: str) -> Iterator[str]:
    """Yield the changes that do not break a contract: upstream's, and the operation's own."""
    named = f"the {now.operation} `{now.symbol}`"
    if soft := _differing_parts(locked, now, hard=False):
        yield f"the {soft} of {named} changed upstream"
    if locked.unlike != now.unlike:
        shown = f"{named} {now.unlike or f'no longer {locked.unlike}'}"
        yield f"{shown}, which {LOCK_FILE} does not say: review it, then {again}"


def warnings(contracts: Iterable[Contract], operations: Iterable[Operation]) -> Iterator[str]:
    """Yield the notices about operations on this upstream that the contracts, and so the lock, contain."""
    where = _places(operations)
    for entry in contracts:
        at = where.get(entry.place, "")
        if entry.hidden:
            leaf = leaf_of(entry.symbol)
            what = f"{entry.hidden} may give objects another `{leaf}` than the {entry.operation} `{entry.symbol}`"
            yield f"{at}: {what}"
        if entry.watched:
            yield f"{at}: upstream's code can tell the wrapper of `{entry.symbol}` by {entry.watched}"
        if entry.unlike:
            yield f"{at}: the {entry.operation} `{entry.symbol}` {entry.unlike}"
        if entry.affects:
            yield f"{at}: the {entry.operation} `{entry.symbol}` {entry.affects}"
        if entry.undone:
            yield f"{at}: upstream gives `{entry.symbol}` another value in {entry.undone}"


def _places(operations: Iterable[Operation]) -> dict[ContractPlace, str]:
    """Return the place of each contract's operation."""
    return {(one.path, one.symbol, "", ""): one.where for one in operations}


def _differing_parts(locked: Contract, now: Contract, *, hard: bool) -> str:
    """Return the differing parts that the operation needs, or those that it does not need."""
    hard_parts = needed(now)
    found: list[str] = []
    for one in differences(locked, now):
        if one.part not in {*FAR, *OWN} and (one.part in hard_parts) is hard:
            found.append(one.part)
    return ", ".join(found)


def _superfluous(
    locked: Mapping[ContractPlace, Contract], now: Mapping[ContractPlace, Contract], overlay: str, again: str
) -> Iterator[Problem]:
    for path, symbol, patch, found in sorted(locked.keys() - now.keys()):
        what = f"holds a contract for `{symbol or found.strip()}` of {path}, " + (
            f"which {patch} does not change" if patch else "on which there is no operation"
        )
        yield Problem(where=f"{overlay}/{LOCK_FILE}", what=what, fix=again)
