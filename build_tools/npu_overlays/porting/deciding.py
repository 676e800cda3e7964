"""Deciding: a port and what becomes of its parts → what is written into its folder.

What a layer says is dropped by the pin, and stated there anew where it moved: the layer serves other pins. What the pin
says itself is changed where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from npu_overlays.errors import Problem, UsageError
from npu_overlays.overlay.project import TextEdit
from npu_overlays.overlay.said import SourcedEdit
from npu_overlays.porting.decisions import Decided, Decisions, decided, is_own
from npu_overlays.porting.exchanging import is_stated
from npu_overlays.porting.folder import carry_out
from npu_overlays.porting.lifting import lifted
from npu_overlays.porting.owning import Own, own_files
from npu_overlays.porting.port import Port
from npu_overlays.porting.restating import Move, obstacle_in, restated
from npu_overlays.porting.rows import Row


def decide(port: Port, decisions: Decisions) -> tuple[str, ...] | None:
    """Write into the folder of a port what a person decided.

    Returns:
        What was done that the folder does not tell; None where nothing was decided.

    Raises:
        UsageError: with each name that is none of a part's, and each proposal that cannot be carried out.
    """
    everything = decided(port, decisions)
    below, own = everything.of(port, own=False), everything.of(port, own=True)
    there = [move for _, move in everything.moves if _is_there(port, move)]
    said = _own_parts(own, there)
    files, problems = own_files(said, port.new, port.now)
    if problems := [*_obstacles(port, everything.moves, there), *problems]:
        raise UsageError(problems)
    moves = [*(move for _, move in below.moves if move not in there), *_lifted(port, said)]
    texts = {f"tree/{path}": text.encode() for path, text in restated(moves, _known(port, moves, files)).items()}
    files = {**texts, **{path: content for path, content in files.items() if path not in texts}}
    dropped = _dropped(port, below)
    carry_out(port.new.folder, files, dropped, _kept_edits(port, dropped, below.longer))
    return tuple(_notes(port, own)) if files or dropped else None


def _is_there(port: Port, move: Move) -> bool:
    """Return whether the pin says at the new place of an operation what that says: a port was killed in between."""
    return any(is_own(port, row) and row.verdict.applies and is_stated(move, row.said) for row in port.rows)


def _own_parts(own: Decided, there: Sequence[Move]) -> Own:
    moves = [move for _, move in own.moves]
    return Own(
        gone=[*(row.said for row, _ in own.gone), *(move.operation for move in moves if move in there)],
        moves=[move for move in moves if move not in there],
        longer=[(row.said, row.verdict.lead) for row in own.longer if isinstance(row.said, SourcedEdit)],
    )


def _lifted(port: Port, said: Own) -> Iterator[Move]:
    """Yield the operations of the pin's own that go to another file, as their author wrote them."""
    for move in said.elsewhere:
        file = port.new.folder / move.operation.file.partition("/")[2]
        yield lifted(move, file.read_bytes())


def _dropped(port: Port, below: Decided) -> dict[str, str]:
    """Return what the pin drops of its layers, by name with why; a package that left as a whole is one name."""
    anew = "Stated anew in this pin"
    gone = {id(row) for row, _ in below.gone}
    kept = {_top(row) for row in port.rows if id(row) not in gone and not is_own(port, row)}
    dropped: dict[str, str] = {}
    for row, why in below.gone:
        is_whole = row.verdict.kind == "left" and _top(row) not in kept
        dropped.setdefault(_top(row) if is_whole else row.name, why)
    dropped |= {row.name: f"{anew}, where upstream has it now: {row.verdict.to}." for row, _ in below.moves}
    return dropped | {row.name: f"{anew}: {row.verdict.evidence}." for row in below.longer}


def _top(row: Row) -> str:
    """Return the folder at upstream's root that a part is in."""
    return f"{row.name.partition('/')[0]}/"


def _notes(port: Port, own: Decided) -> Iterator[str]:
    """Yield what became of what the pin says itself, and why: nothing of it is left that could tell."""
    yield from (f"{port.new.name}: left out {row.name}: {why}" for row, why in own.gone)
    yield from (f"{port.new.name}: {row.name} stands at {row.verdict.to} now" for row, _ in own.moves)
    yield from (f"{port.new.name}: {row.name}: {row.verdict.evidence}" for row in own.longer)


def _known(port: Port, moves: Iterable[Move], files: Mapping[str, bytes | None]) -> dict[str, str]:
    """Return what the pin's own merge modules say by then, by the path of the module that they change."""
    found: dict[str, str] = {}
    for path in {move.path for move in moves}:
        file = port.new.folder / "tree" / path
        now = file.read_bytes() if file.is_file() else None
        if (content := files.get(f"tree/{path}", now)) is not None:
            found[path] = content.decode()
    return found


def _kept_edits(port: Port, dropped: Iterable[str], longer: Sequence[Row]) -> list[tuple[str, TextEdit]]:
    """Return the layers' substitutions in a dropped file that still fit, or do with what stands above them.

    A file's are dropped together.
    """
    gone, lengthened = set(dropped), set(map(id, longer))
    kept: list[tuple[str, TextEdit]] = []
    for row in port.rows:
        is_kept = row.verdict.applies or id(row) in lengthened
        if isinstance(row.said, SourcedEdit) and row.name in gone and is_kept and not is_own(port, row):
            edit, lead = row.said.edit, row.verdict.lead if id(row) in lengthened else ""
            kept.append((row.name, replace(edit, find=lead + edit.find, replace=lead + edit.replace)))
    return kept


def _obstacles(port: Port, moves: Iterable[tuple[Row, Move]], there: Sequence[Move]) -> Iterator[Problem]:
    taken: set[tuple[str, str]] = set()
    for row, move in moves:
        if move in there:
            continue
        file = port.new.folder / "tree" / move.path
        why = move.obstacle or (obstacle_in(file, move) if file.exists() else "")
        if not why and (move.path, move.symbol) in taken:
            why = "another operation moves there, too"
        taken.add((move.path, move.symbol))
        if why:
            fix = f"write it at {row.verdict.to} by hand, and --drop '{row.name}=…' or delete it where it stands"
            yield Problem(where=row.name, what=f"cannot be stated anew by itself: {why}", fix=fix)
