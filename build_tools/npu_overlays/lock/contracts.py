"""Contracts: what each operation depends on in its pinned upstream, and whether a source at hand keeps it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from npu_overlays.errors import MergeError, OverlayError, Problem
from npu_overlays.merging.sites import find
from npu_overlays.merging.upstream.parts import hidden_by, owners, parts, watchers
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.operations import Operation
from npu_overlays.syntax.symbols import Module
from npu_overlays.tree import SourceTree

Place = tuple[str, str, str]
_DIGEST = 16


@dataclass(frozen=True, kw_only=True)
class Contract:
    """What one operation saw in upstream; empty fields are what that kind of operation does not depend on.

    Args:
        path: repository path.
        symbol: qualified name; empty for a substitution in a file that is not Python.
        operation: the operation's action, ``patch`` for one symbol that a patch changes, ``edit`` for a substitution.
        patch: name of the patch.
        change: what the patch does to the symbol.
        owner: the classes around the symbol as they are declared, each there once and without a condition.
        kind: plain function, generator, coroutine, async generator, class, attribute or import.
        signature: parameters with their defaults; of a class its bases and keywords.
        decorators: in order.
        annotations: fingerprint of a function's.
        body: fingerprint, docstring left out; of a file that is not Python, of all of it.
        watched: by what upstream's code can tell a wrapper from the original.
        hidden: the methods that may give objects another member in its place.
    """

    path: str
    symbol: str = ""
    operation: str
    patch: str = ""
    change: str = ""
    owner: str = ""
    kind: str = ""
    signature: str = ""
    decorators: str = ""
    annotations: str = ""
    body: str = ""
    watched: str = ""
    hidden: str = ""

    @property
    def place(self) -> Place:
        """What it is about, by which two sets of contracts are compared."""
        return self.path, self.symbol, self.patch


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One part that is not the same in two contracts on one place."""

    part: str
    before: str
    after: str

    def __str__(self) -> str:
        name = _SAID.get(self.part, self.part)
        if self.part in _FINGERPRINTS:
            return name
        if self.before and self.after:
            return f"{name} (`{self.before}` → `{self.after}`)"
        return f"{name} (`{self.before}` is gone)" if self.before else f"{name} (`{self.after}` is new)"


_FINGERPRINTS = frozenset({"annotations", "body"})
_SAID = {"owner": "class", "watched": "onlookers", "hidden": "what hides it"}
_PARTS = ("change", "owner", "kind", "signature", "decorators", "annotations", "body", "watched", "hidden")
# What an operation cannot do without; a difference in anything else is worth a look.
_DEFINITION = frozenset({"kind", "signature", "decorators", "annotations", "body"})
_HARD = {
    "replaced": _DEFINITION,
    "deleted": _DEFINITION,
    "wrapped": frozenset({"kind", "signature", "decorators"}),
    "patch": frozenset({"change"}),
}


def differences(one: Contract, other: Contract) -> list[Difference]:
    """Return what differs between two contracts of one operation."""
    pairs = ((part, getattr(one, part), getattr(other, part)) for part in _PARTS)
    return [Difference(part=part, before=before, after=after) for part, before, after in pairs if before != after]


def breaking(locked: Contract, now: Contract) -> list[Difference]:
    """Return what differs between two contracts of one operation, of that which it cannot do without."""
    needed = _HARD.get(now.operation, frozenset())
    return [one for one in differences(locked, now) if one.part in needed]


def contract(module: Module, operation: Operation) -> Contract:
    """Return what an operation depends on; raises `MergeError` where its symbol is not there exactly once."""
    found: dict[str, str] = {}
    if operation.action != "added":
        definition = find(module, operation)
        found = parts(definition)
        found["watched"] = watchers(module, definition) if operation.action == "wrapped" else ""
        found["hidden"] = hidden_by(module, definition) if operation.action != "deleted" else ""
    return Contract(
        path=operation.path,
        symbol=operation.symbol,
        operation=operation.action,
        owner=owners(module, operation.symbol),
        **found,
    )


def contracts(content: Content, tree: SourceTree) -> list[Contract]:
    """Return what each operation and substitution depends on in a source tree; those without their symbol are left out.

    Those are reported when they are applied, with the nearest name.
    """
    modules: dict[str, Module] = {}
    paths = dict.fromkeys(edit.path for edit in content.edits if edit.path in tree)
    found = [Contract(path=path, operation="edit", body=content_fingerprint(tree.read(path))) for path in paths]
    for operation in content.operations:
        if operation.path in tree:
            try:
                if operation.path not in modules:
                    modules[operation.path] = Module(operation.path, tree.read(operation.path))
                found.append(contract(modules[operation.path], operation))
            except OverlayError:
                continue
    return found


def content_fingerprint(content: bytes) -> str:
    """Return the fingerprint of a file that is not Python."""
    return hashlib.sha256(content).hexdigest()[:_DIGEST]


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
        Notices: what changed without harm for the contract, and what can tell a wrapper from the original.

    Raises:
        MergeError: with every broken, missing and superfluous contract.
    """
    locked = {entry.place: entry for entry in contracts}
    now = {entry.place: entry for entry in actual}
    where = {(operation.path, operation.symbol, ""): operation.where for operation in operations}
    again = f"run `npu-overlays lock {overlay}`"
    problems = []
    notices = []
    for place, entry in now.items():
        at = where.get(place) or (f"{overlay}: {entry.patch}" if entry.patch else overlay)
        known = locked.get(place)
        if known is None or known.operation != entry.operation:
            what = f"the {entry.operation} `{entry.symbol}` of {entry.path} is not in {LOCK_FILE}"
            problems.append(Problem(where=at, what=what, fix=f"review it, then {again}"))
        elif hard := _differing_parts(known, entry, hard=True):
            what = f"upstream's {hard} of `{entry.symbol}` in {entry.path} is not what this was written for"
            problems.append(Problem(where=at, what=what, fix=f"adapt the operation, then {again}"))
        elif soft := _differing_parts(known, entry, hard=False):
            notices.append(f"{at}: the {soft} of the {entry.operation} `{entry.symbol}` changed upstream")
        if entry.hidden:
            leaf = entry.symbol.rpartition(".")[2]
            what = f"{entry.hidden} may give objects another `{leaf}` than the {entry.operation} `{entry.symbol}`"
            notices.append(f"{at}: {what}")
        if entry.watched:
            notices.append(f"{at}: upstream's code can tell the wrapper of `{entry.symbol}` by {entry.watched}")
    problems += list(_superfluous(locked, now, overlay, again))
    if problems:
        raise MergeError(problems)
    return notices


def _differing_parts(locked: Contract, now: Contract, *, hard: bool) -> str:
    """Return the parts that differ and the operation cannot do without, or the other ones."""
    needed = _HARD.get(now.operation, frozenset())
    return ", ".join(one.part for one in differences(locked, now) if (one.part in needed) is hard)


def _superfluous(
    locked: Mapping[Place, Contract], now: Mapping[Place, Contract], overlay: str, again: str
) -> Iterator[Problem]:
    for path, symbol, patch in sorted(locked.keys() - now.keys()):
        what = f"holds a contract for `{symbol}` of {path}, " + (
            f"which {patch} does not change" if patch else "on which there is no operation"
        )
        yield Problem(where=f"{overlay}/{LOCK_FILE}", what=what, fix=again)
