"""Decisions: a port and what a person says of its parts → what becomes of which of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from npu_overlays.errors import Problem, UsageError, listing
from npu_overlays.overlay.content import load_content
from npu_overlays.overlay.operations import Operation
from npu_overlays.porting.port import Port
from npu_overlays.porting.restating import Move
from npu_overlays.porting.rows import Row
from npu_overlays.porting.verdict import KINDS


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """What a person says.

    Args:
        accept: kinds or names of which the proposals are accepted; ``all`` for all but what is absorbed.
        drop: why each of some parts is dropped, by name.
    """

    accept: tuple[str, ...] = ()
    drop: Mapping[str, str] | None = None

    def takes(self, row: Row) -> bool:
        """Return whether the proposal of a row is accepted."""
        kind = row.verdict.kind
        named = {kind, kind.replace(" ", "-"), *_names(row)}
        return bool(named & set(self.accept)) or ("all" in self.accept and kind != "absorbed")


@dataclass(frozen=True, kw_only=True)
class Decided:
    """What becomes of some parts of a port.

    Args:
        gone: those that are left out, with why.
        moves: those that are stated anew, with where to.
        longer: substitutions that are looked for with what stands above them.
    """

    gone: tuple[tuple[Row, str], ...]
    moves: tuple[tuple[Row, Move], ...]
    longer: tuple[Row, ...]

    def of(self, port: Port, *, own: bool) -> Decided:
        """Return the part of it that is about what the new pin says itself, or about what its layers say."""
        return Decided(
            gone=tuple((row, why) for row, why in self.gone if is_own(port, row) == own),
            moves=tuple((row, move) for row, move in self.moves if is_own(port, row) == own),
            longer=tuple(row for row in self.longer if is_own(port, row) == own),
        )


def decided(port: Port, decisions: Decisions) -> Decided:
    """Return what becomes of which parts; raises `UsageError` with each name that is none of a part's."""
    drops = dict(decisions.drop or {})
    _check_names(port, decisions, drops)
    named = {id(row): (row, why) for name, why in drops.items() for row in _rows_of(port, name)}
    taken = [row for row in port.rows if id(row) not in named and row.verdict.proposal and decisions.takes(row)]
    return Decided(
        gone=(*named.values(), *((row, _why(port, row)) for row in taken if row.verdict.proposal == "drop")),
        moves=tuple((row, _move(row)) for row in taken if row.verdict.to),
        longer=tuple(row for row in taken if row.verdict.lead),
    )


def is_own(port: Port, row: Row) -> bool:
    """Return whether the new pin says something itself."""
    return row.layer == port.new.name


def _rows_of(port: Port, name: str) -> list[Row]:
    """Return what a name leaves out.

    A symbol alone names what is open. By its whole name, of what the pin says itself that is what does not apply: the
    rest stands for what a layer says under that name, which is meant then. Where there is nothing else of that name,
    all of it is meant.
    """
    listed = [_beneath(port, row) for row in port.rows if row.name == name]
    if listed:
        return [row for row in listed if not (is_own(port, row) and row.verdict.applies)] or listed
    return [row for row in _called(port, name) if not row.verdict.applies]


def _called(port: Port, symbol: str) -> list[Row]:
    """Return the rows of a symbol, whatever their files."""
    return [_beneath(port, row) for row in port.rows if _names(row)[1] == symbol]


def _beneath(port: Port, row: Row) -> Row:
    """Return the row of the layer's operation whose place one takes that applies; other rows as they are."""
    if is_own(port, row) and row.verdict.applies and isinstance(row.said, Operation):
        for one in load_content(port.new, port.version).operations:
            if (one.path, one.symbol) == (row.said.path, row.said.symbol) and one.layer != port.new.name:
                return replace(row, said=one, verdict=replace(row.verdict, applies=False))
    return row


def _names(row: Row) -> tuple[str, str]:
    return row.name, row.name.partition(":")[2]


def _move(row: Row) -> Move:
    path, _, symbol = row.verdict.to.partition(":")
    return Move(operation=row.said, path=path, symbol=symbol)  # type: ignore[arg-type]  # only operations move


def _why(port: Port, row: Row) -> str:
    commit = f" ({row.commit})" if row.commit else ""
    return f"On {port.new.name}: {row.verdict.kind}; {row.verdict.evidence}{commit}."


def _check_names(port: Port, decisions: Decisions, drops: Mapping[str, str]) -> None:
    known = {"all", *KINDS, *(kind.replace(" ", "-") for kind in KINDS)}
    known |= {name for row in port.rows for name in _names(row)}
    wrong = [f"--accept {one}" for one in decisions.accept if one not in known]
    wrong += [f"--drop {name}" for name in drops if name not in known]
    fix = "name one of the table, its symbol alone, or a kind; --accept also takes all"
    problems = [Problem(where=one, what="names no part that is open here", fix=fix) for one in wrong]
    problems += _unclear(port, decisions, [name for name in drops if name in known])
    if problems:
        raise UsageError(problems)


def _unclear(port: Port, decisions: Decisions, drops: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem for each symbol alone that several parts have, or, to be dropped, none that is open."""
    whole = {row.name for row in port.rows}
    accepted = {name: [row for row in _called(port, name) if row.verdict.proposal] for name in decisions.accept}
    dropped = {name: _rows_of(port, name) for name in drops if name not in whole}
    for option, meant in (("--accept", accepted), ("--drop", dropped)):
        for name, rows in meant.items():
            if len(named := sorted({row.name for row in rows})) > 1 and name not in whole:
                what, fix = f"names several parts: {listing(named)}", "name each with its file"
                yield Problem(where=f"{option} {name}", what=what, fix=fix)
    for name in (name for name, rows in dropped.items() if not rows):
        fitting = listing(sorted({row.name for row in _called(port, name)}))
        what = f"names only what applies: {fitting}"
        yield Problem(where=f"--drop {name}", what=what, fix="name it with its file to leave it out all the same")
