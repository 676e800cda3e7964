"""Carry out: a port and what a person decided about its parts → what is written into its folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from npu_overlays.authoring.port.decisions import DecidedParts, Decisions, decided_parts
from npu_overlays.authoring.port.folder import write_decisions
from npu_overlays.authoring.port.parts import PortedPart
from npu_overlays.authoring.port.pin_edits import PinEdits
from npu_overlays.authoring.port.port import Port
from npu_overlays.authoring.port.retarget import Retarget, extracted, obstacle_in, restated
from npu_overlays.errors import Problem, UsageError
from npu_overlays.overlay.project import TextEdit
from npu_overlays.overlay.said import SourcedEdit


def carry_out(port: Port, decisions: Decisions) -> list[str] | None:
    """Write into the folder of a port what a person decided.

    Returns:
        Notes of what was done that the folder does not show; None if nothing was decided.

    Raises:
        UsageError: with each name that means no part, and each proposal that cannot be carried out.
    """
    decided = decided_parts(port, decisions)
    of_layers, own = decided.stated_by_pin(port, itself=False), decided.stated_by_pin(port, itself=True)
    # A port may have been killed between stating an operation anew and taking out the old one.
    done = [move for _, move in decided.moved if _is_done(port, move)]
    edits = _pin_edits(own, done)
    files, problems = edits.files(port.new, port.now)
    if problems := [*_obstacles(port, decided.moved, done), *problems]:
        raise UsageError(problems)
    moves = [move for _, move in of_layers.moved if move not in done]
    for move in edits.moved:
        if move.path != move.operation.path and not move.operation.shared:
            # It is stated in another file as its author wrote it.
            moves.append(extracted(move, (port.new.folder / move.operation.file.partition("/")[2]).read_bytes()))
    texts: dict[str, bytes | None] = {}
    for path, text in restated(moves, _merge_modules(port, moves, files)).items():
        texts[f"tree/{path}"] = text.encode()
    files = {**texts, **{path: content for path, content in files.items() if path not in texts}}
    drops = _drops(port, of_layers)
    write_decisions(port.new.folder, files, drops, _kept_edits(port, drops, of_layers.lengthened))
    return list(_notes(port, own)) if files or drops else None


def _is_done(port: Port, move: Retarget) -> bool:
    """Return whether the pin states at the new target what an operation stated at the old one."""
    for part in port.parts:
        if port.states_itself(part) and part.verdict.applies and move.is_stated_by(part.statement):
            return True
    return False


def _pin_edits(own: DecidedParts, done: Sequence[Retarget]) -> PinEdits:
    dropped, moved = [part.statement for part, _ in own.dropped], []
    for _, move in own.moved:
        if move in done:
            dropped.append(move.operation)
        else:
            moved.append(move)
    lengthened: list[tuple[SourcedEdit, str]] = []
    for part in own.lengthened:
        if isinstance(part.statement, SourcedEdit):
            lengthened.append((part.statement, part.verdict.lead))
    return PinEdits(dropped=dropped, moved=moved, lengthened=lengthened)


def _merge_modules(port: Port, moves: Iterable[Retarget], files: Mapping[str, bytes | None]) -> dict[str, str]:
    """Return the pin's own merge modules to which operations move, by the paths of the modules they change."""
    found: dict[str, str] = {}
    for path in dict.fromkeys(move.path for move in moves):
        file = port.new.folder / "tree" / path
        content = file.read_bytes() if file.is_file() else None
        content = files.get(f"tree/{path}", content)
        if content is not None:
            found[path] = content.decode()
    return found


def _drops(port: Port, of_layers: DecidedParts) -> dict[str, str]:
    """Return what the pin drops of its layers, by name with why; a package that left as a whole has one name."""
    dropped = {part.statement for part, _ in of_layers.dropped}
    kept: set[str] = set()
    for part in port.parts:
        if part.statement not in dropped and not port.states_itself(part):
            kept.add(_top(part))
    drops: dict[str, str] = {}
    for part, why in of_layers.dropped:
        is_whole = part.verdict.kind == "left" and _top(part) not in kept
        drops.setdefault(_top(part) if is_whole else part.name, why)
    anew = "Stated anew in this pin"
    for part, _ in of_layers.moved:
        drops[part.name] = f"{anew}, where upstream has it now: {part.verdict.to}."
    for part in of_layers.lengthened:
        drops[part.name] = f"{anew}: {part.verdict.evidence}."
    return drops


def _top(part: PortedPart) -> str:
    """Return the top folder of upstream's that a part is in."""
    return f"{part.name.partition('/')[0]}/"


def _notes(port: Port, own: DecidedParts) -> Iterator[str]:
    """Yield what was done to what the pin states itself, and why: nothing of it is left that could show it."""
    name = port.new.name
    yield from (f"{name}: left out {part.name}: {why}" for part, why in own.dropped)
    yield from (f"{name}: {part.name} stands at {part.verdict.to} now" for part, _ in own.moved)
    yield from (f"{name}: {part.name}: {part.verdict.evidence}" for part in own.lengthened)


def _kept_edits(port: Port, drops: Mapping[str, str], lengthened: Sequence[PortedPart]) -> list[tuple[str, TextEdit]]:
    """Return the layers' substitutions in dropped files that still fit, or fit when lengthened.

    A `drop` takes out all substitutions of a file together.
    """
    kept: list[tuple[str, TextEdit]] = []
    for part in port.parts:
        sourced, lead = part.statement, part.verdict.lead if part in lengthened else ""
        if not isinstance(sourced, SourcedEdit) or part.name not in drops or port.states_itself(part):
            continue
        if part.verdict.applies or lead:
            edit = sourced.edit
            kept.append((part.name, replace(edit, find=lead + edit.find, replace=lead + edit.replace)))
    return kept


def _obstacles(port: Port, moves: Iterable[tuple[PortedPart, Retarget]], done: Sequence[Retarget]) -> Iterator[Problem]:
    taken: set[tuple[str, str]] = set()
    for part, move in moves:
        if move in done:
            continue
        file = port.new.folder / "tree" / move.path
        why = move.obstacle or (obstacle_in(file, move) if file.exists() else "")
        if not why and (move.path, move.symbol) in taken:
            why = "another operation moves there, too"
        taken.add((move.path, move.symbol))
        if why:
            what = f"cannot be stated anew by itself: {why}"
            fix = f"write it at {part.verdict.to} by hand, and --drop '{part.name}=…' or delete it where it stands"
            yield Problem(where=part.name, what=what, fix=fix)
