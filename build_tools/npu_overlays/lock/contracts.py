"""Contracts: what each operation depends on in its pinned upstream, and whether a source at hand keeps it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from npu_overlays.errors import MergeError, OverlayError, Problem
from npu_overlays.merging.sites import find
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.operations import Operation
from npu_overlays.syntax import fingerprint
from npu_overlays.syntax.symbols import Module
from npu_overlays.tree import SourceTree


@dataclass(frozen=True, kw_only=True)
class Contract:
    """What one operation depends on.

    Args:
        path: repository path.
        symbol: qualified name.
        operation: the operation's action.
        fingerprint: of upstream's definition (`replaced`, `deleted`; for `wrapped` a change is only a notice).
        signature: of how upstream's function is called (`wrapped`).
    """

    path: str
    symbol: str
    operation: str
    fingerprint: str = ""
    signature: str = ""


def contract(module: Module, operation: Operation) -> Contract:
    """Return what an operation depends on; raises `MergeError` where its symbol is not there exactly once."""
    print_, signature = "", ""
    if operation.action in ("replaced", "deleted", "wrapped"):
        node = find(module, operation).node
        print_ = fingerprint.fingerprint(node)
        if operation.action == "wrapped" and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            signature = fingerprint.signature_fingerprint(node)
    return Contract(
        path=operation.path,
        symbol=operation.symbol,
        operation=operation.action,
        fingerprint=print_,
        signature=signature,
    )


def contracts(content: Content, tree: SourceTree) -> list[Contract]:
    """Return what each operation depends on in a source tree; operations without their symbol are left out.

    Those are reported when they are applied, with the nearest name.
    """
    modules: dict[str, Module] = {}
    found = []
    for operation in content.operations:
        if operation.path in tree:
            try:
                if operation.path not in modules:
                    modules[operation.path] = Module(operation.path, tree.read(operation.path))
                found.append(contract(modules[operation.path], operation))
            except OverlayError:
                continue
    return found


def check_contracts(
    contracts: Iterable[Contract], actual: Iterable[Contract], operations: Iterable[Operation], *, overlay: str
) -> list[str]:
    """Compare the locked contracts with the source at hand.

    Args:
        contracts: of the lock.
        actual: of the same operations on the source at hand.
        operations: the operations, for messages.
        overlay: name of the overlay, for messages.

    Returns:
        Notices: wrapped functions whose bodies changed, harmless for the contract.

    Raises:
        MergeError: with every broken, missing and superfluous contract.
    """
    locked = {(entry.path, entry.symbol): entry for entry in contracts}
    now = {(entry.path, entry.symbol): entry for entry in actual}
    where = {(operation.path, operation.symbol): operation.where for operation in operations}
    again = f"run `npu-overlays lock {overlay}`"
    problems = []
    notices = []
    for place, entry in now.items():
        known = locked.get(place)
        if known is None or known.operation != entry.operation:
            what = f"the {entry.operation} `{entry.symbol}` of {entry.path} is not in {LOCK_FILE}"
            problems.append(Problem(where=where[place], what=what, fix=f"review it, then {again}"))
        elif part := broken(known, entry):
            what = f"upstream's {part} of `{entry.symbol}` in {entry.path} is not the one this was written for"
            problems.append(Problem(where=where[place], what=what, fix=f"adapt the operation, then {again}"))
        elif known.fingerprint != entry.fingerprint:
            notices.append(f"{where[place]}: the body of the wrapped `{entry.symbol}` changed upstream")
    problems += list(_superfluous(locked, now, overlay, again))
    if problems:
        raise MergeError(problems)
    return notices


def broken(locked: Contract, now: Contract) -> str:
    """Return which part of a contract a source does not keep, or an empty text."""
    if locked.operation == "wrapped":
        return "signature" if locked.signature != now.signature else ""
    return "definition" if locked.fingerprint != now.fingerprint else ""


def _superfluous(
    locked: Mapping[tuple[str, str], Contract], now: Mapping[tuple[str, str], Contract], overlay: str, again: str
) -> Iterator[Problem]:
    for path, symbol in sorted(locked.keys() - now.keys()):
        what = f"holds a contract for `{symbol}` of {path}, on which there is no operation"
        yield Problem(where=f"{overlay}/{LOCK_FILE}", what=what, fix=again)
