"""Deciding: a port and what a person decides of its parts → what is written into its folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from npu_overlays.errors import Problem, UsageError
from npu_overlays.overlay.content import load_content
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.project import TextEdit
from npu_overlays.overlay.said import SourcedEdit
from npu_overlays.porting.folder import carry_out
from npu_overlays.porting.port import Port
from npu_overlays.porting.restating import Move, obstacle_in, restated
from npu_overlays.porting.rows import Row
from npu_overlays.porting.verdict import KINDS


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """What a person decides.

    Args:
        accept: kinds or names of which the proposals are accepted; ``all`` for all but what is absorbed.
        drop: why each of some parts is dropped, by name.
    """

    accept: tuple[str, ...] = ()
    drop: Mapping[str, str] | None = None

    def takes(self, row: Row) -> bool:
        """Return whether the proposal of a row is accepted."""
        kind = row.verdict.kind
        named = {kind, kind.replace(" ", "-"), row.name, row.name.rpartition(":")[2]}
        return bool(named & set(self.accept)) or ("all" in self.accept and kind != "absorbed")


def decide(port: Port, decisions: Decisions) -> bool:
    """Write into the folder of a port what a person decided, and return whether that is anything.

    Raises:
        UsageError: with each name that is none of an open part's, and each proposal that cannot be carried out.
    """
    drops = dict(decisions.drop or {})
    _check_names(port, decisions, drops)
    dropped = {row.name: drops[name] for row in port.rows for name in _names(row) if name in drops}
    taken = [row for row in port.rows if row.name not in dropped and row.verdict.proposal and decisions.takes(row)]
    moves = [(row, _move(row)) for row in taken if row.verdict.to]
    longer = {id(row): row for row in taken if row.verdict.lead}
    if problems := [
        *_obstacles(port, moves),
        *_own(port, [*taken, *(one for one in port.rows if one.name in dropped)]),
    ]:
        raise UsageError(problems)
    dropped |= {row.name: _why(port, row) for row in taken if row.verdict.proposal == "drop"}
    dropped |= {row.name: f"Stated anew in this pin, where upstream has it now: {row.verdict.to}." for row, _ in moves}
    dropped |= {row.name: f"Stated anew in this pin: {row.verdict.evidence}." for row in longer.values()}
    texts = restated([move for _, move in moves], _stated(port, moves))
    carry_out(port.new.folder, texts, dropped, _kept_edits(port, dropped, longer))
    return bool(dropped)


def _stated(port: Port, moves: Iterable[tuple[Row, Move]]) -> dict[str, str]:
    """Return what the pin's own merge modules say by now, by the path of the module that they change."""
    files = {move.path: port.new.folder / "tree" / move.path for _, move in moves}
    return {path: file.read_text("utf-8") for path, file in files.items() if file.is_file()}


def _names(row: Row) -> tuple[str, str]:
    return row.name, row.name.rpartition(":")[2]


def _move(row: Row) -> Move:
    path, _, symbol = row.verdict.to.partition(":")
    return Move(operation=row.said, path=path, symbol=symbol)  # type: ignore[arg-type]  # only operations move


def _why(port: Port, row: Row) -> str:
    commit = f" ({row.commit})" if row.commit else ""
    return f"On {port.new.name}: {row.verdict.kind}; {row.verdict.evidence}{commit}."


def _kept_edits(port: Port, dropped: Iterable[str], longer: Mapping[int, Row]) -> list[tuple[str, TextEdit]]:
    """Return the substitutions in a dropped file that still fit, or do with what stands above them.

    A file's are dropped together.
    """
    gone = set(dropped)
    kept: list[tuple[str, TextEdit]] = []
    for row in port.rows:
        if isinstance(row.said, SourcedEdit) and row.name in gone and (row.verdict.applies or id(row) in longer):
            edit, lead = row.said.edit, row.verdict.lead if id(row) in longer else ""
            kept.append((row.name, replace(edit, find=lead + edit.find, replace=lead + edit.replace)))
    return kept


def _check_names(port: Port, decisions: Decisions, drops: Mapping[str, str]) -> None:
    known = {"all", *KINDS, *(kind.replace(" ", "-") for kind in KINDS)}
    known |= {name for row in port.rows for name in _names(row)}
    wrong = [f"--accept {one}" for one in decisions.accept if one not in known]
    wrong += [f"--drop {name}" for name in drops if name not in known]
    if wrong:
        fix = "name one of the table, its symbol alone, or a kind; --accept also takes all"
        raise UsageError(Problem(where=one, what="names no part that is open here", fix=fix) for one in wrong)


def _obstacles(port: Port, moves: Iterable[tuple[Row, Move]]) -> Iterable[Problem]:
    for row, move in moves:
        there = port.new.folder / "tree" / move.path
        why = move.obstacle or (obstacle_in(there, move) if there.exists() else "")
        if why:
            fix = f"write it at {row.verdict.to} by hand, and --drop '{row.name}=…' or delete it where it stands"
            yield Problem(where=row.name, what=f"cannot be stated anew by itself: {why}", fix=fix)


def _own(port: Port, wanted: Iterable[Row]) -> Iterable[Problem]:
    """Yield a problem for what is the pin's own: only what lies below can be dropped."""
    content = load_content(port.new, port.version)
    below = {(one.path, one.symbol) for one in content.operations if one.layer != port.new.name}
    for row in wanted:
        replaces = isinstance(row.said, Operation) and (row.said.path, row.said.symbol) in below
        if row.layer == port.new.name and not (row.verdict.applies and replaces):
            fix = f"edit or delete it at {row.where}, then --continue"
            yield Problem(where=row.name, what="is this pin's own, which nothing drops", fix=fix)
