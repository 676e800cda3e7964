"""Carry out: a port and a person's decisions about its parts → the files of its folder, written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from npu_overlays.authoring.port.decisions import DecidedPart, Decisions, decided_parts, kept_parts
from npu_overlays.authoring.port.folder import write_decisions
from npu_overlays.authoring.port.parts import PortedPart
from npu_overlays.authoring.port.pin_edits import pin_files
from npu_overlays.authoring.port.port import Port, evaluate
from npu_overlays.authoring.port.retarget import Retarget, obstacle_in, restated
from npu_overlays.authoring.port.start import StartedPort
from npu_overlays.errors import Problem, UsageError
from npu_overlays.overlay.layer_content import SourcedEdit
from npu_overlays.overlay.project import TextEdit
from npu_overlays.overlay.source_choice import Choice


def decide(folder: Path, choice: Choice, decisions: Decisions, started: StartedPort | None = None) -> Port:
    """Carry out decisions about an unfinished port, and return it as it is then; notes say what was done.

    If nothing is open then, it is locked, and finished. Raises as `evaluate` and `carry_out` do.

    Args:
        folder: the new overlay's.
        choice: where upstream comes from.
        decisions: a person's.
        started: the result of `start`, if the port was just started.
    """
    port = evaluate(folder, choice, started)
    done = carry_out(port, decisions)
    if done is None:
        return port
    port = evaluate(folder, choice, started, port)
    return replace(port, notes=(*port.notes, *done))


def carry_out(port: Port, decisions: Decisions) -> list[str] | None:
    """Write a person's decisions into the folder of a port.

    Returns:
        Notes on the changes that the folder does not show; None if nothing was decided.

    Raises:
        UsageError: with each name that no part has, and each proposal that cannot be carried out.
    """
    decided = decided_parts(port, decisions)
    own: list[DecidedPart] = []
    of_layers: list[DecidedPart] = []
    moves: list[Retarget] = []
    problems: list[Problem] = []
    for one in decided:
        move = one.retarget
        # A killed port may have written the new statement without deleting the old one.
        if move and _is_done(port, move):
            move = None
        elif move:
            problems += _obstacles(port, one.part, move, moves)
            moves.append(move)
        if port.states_itself(one.part):
            own.append(replace(one, retarget=move))
        else:
            of_layers.append(one)
    files, others = pin_files(own, port.new, port.now)
    if problems := [*problems, *others]:
        raise UsageError(problems)
    modules = restated(_stated_anew(port, moves), _merge_modules(port, moves, files), port.now)
    texts: dict[str, bytes | None] = {f"tree/{path}": content for path, content in modules.items()}
    files = texts | {path: content for path, content in files.items() if path not in texts}
    drops = _drops(port, of_layers)
    kept = [part.name for part in kept_parts(port, decisions)]
    kept += (one.part.name for one in of_layers if one.part.verdict.kind == "left out")
    write_decisions(port.new.folder, files, drops, _kept_edits(port, drops, of_layers), kept)
    return _notes(port, decided) if files or drops or kept else None


def _is_done(port: Port, move: Retarget) -> bool:
    """Return whether the pin already states an operation for its new target."""
    for part in port.parts:
        if port.states_itself(part) and part.verdict.applies and move.is_stated_by(part.statement):
            return True
    return False


def _stated_anew(port: Port, moves: Iterable[Retarget]) -> list[Retarget]:
    """Return the moves to another file: those of layers, then the pin's own with the text of their statements."""
    of_layers: list[Retarget] = []
    own: list[Retarget] = []
    for move in moves:
        one = move.operation
        if one.layer != port.new.name or (one.shared and move.is_other_code):
            of_layers.append(move)
        elif move.wanted.path != one.path and not one.shared:
            own.append(replace(move, source=(port.new.folder / one.file.partition("/")[2]).read_bytes()))
    return of_layers + own


def _merge_modules(port: Port, moves: Iterable[Retarget], files: Mapping[str, bytes | None]) -> dict[str, str]:
    """Return the pin's own merge modules to which operations move, by the paths of the modules they change."""
    found: dict[str, str] = {}
    for path in dict.fromkeys(move.wanted.path for move in moves):
        file = port.new.folder / "tree" / path
        content = file.read_bytes() if file.is_file() else None
        content = files.get(f"tree/{path}", content)
        if content is not None:
            found[path] = content.decode()
    return found


def _drops(port: Port, of_layers: Iterable[DecidedPart]) -> dict[str, str]:
    """Return the names that the pin drops of its layers, each with the reason; one name for a package that left."""
    dropped = {one.statement for one in of_layers if one.why}
    kept: set[str] = set()
    for part in port.parts:
        if part.statement not in dropped and not port.states_itself(part):
            kept.add(_top(part))
    drops: dict[str, str] = {}
    for one in sorted(of_layers, key=_order):
        part, anew = one.part, "Stated anew in this pin"
        if one.why:
            is_whole = part.verdict.kind == "left" and _top(part) not in kept
            drops.setdefault(_top(part) if is_whole else part.name, one.why)
        elif one.retarget:
            moved = f", where upstream has it now: {part.verdict.to}" if part.verdict.to != part.name else ""
            drops[part.name] = f"{anew}{moved or f': {part.verdict.change}'}."
        else:
            drops[part.name] = f"{anew}: {part.verdict.evidence}."
    return drops


def _order(one: DecidedPart) -> tuple[bool, bool]:
    """Sort dropped parts before moved ones, and these before substitutions that get a longer find."""
    return not one.why, not one.retarget


def _top(part: PortedPart) -> str:
    """Return the top folder of upstream's that a part is in."""
    return f"{part.name.partition('/')[0]}/"


def _notes(port: Port, decided: Iterable[DecidedPart]) -> list[str]:
    """Return a note for each decision on the pin's own parts: no file of the port shows these decisions."""
    notes: list[str] = []
    for one in sorted(decided, key=_order):
        part = one.part
        if not port.states_itself(part):
            continue
        if one.why:
            done = f"left out {part.name}: {one.why}"
        elif one.retarget:
            done = (
                f"{part.name} stands at {part.verdict.to} now{f': {change}' if (change := part.verdict.change) else ''}"
            )
        else:
            done = f"{part.name}: {part.verdict.evidence}"
        notes.append(f"{port.new.name}: {done}")
    return notes


def _kept_edits(port: Port, drops: Mapping[str, str], of_layers: Iterable[DecidedPart]) -> list[tuple[str, TextEdit]]:
    """Return the layers' substitutions in dropped files that still fit, or fit with a longer find.

    A `drop` removes all substitutions of a file together.
    """
    leads = {one.statement: one.lead for one in of_layers}
    kept: list[tuple[str, TextEdit]] = []
    for part in port.parts:
        sourced, lead = part.statement, leads.get(part.statement, "")
        if not isinstance(sourced, SourcedEdit) or part.name not in drops or port.states_itself(part):
            continue
        if part.verdict.applies or lead:
            edit = sourced.edit
            kept.append((part.name, replace(edit, find=lead + edit.find, replace=lead + edit.replace)))
    return kept


def _obstacles(port: Port, part: PortedPart, move: Retarget, earlier: Iterable[Retarget]) -> Iterator[Problem]:
    """Yield a problem if an operation cannot be stated for its new target."""
    file = port.new.folder / "tree" / move.wanted.path
    why = move.obstacle or (obstacle_in(file, move) if file.exists() else "")
    taken = {(one.wanted.path, one.wanted.symbol) for one in earlier}
    if not why and (move.wanted.path, move.wanted.symbol) in taken:
        why = "another operation moves there too"
    if why:
        what = f"cannot be moved automatically: {why}"
        fix = f"write it at {part.verdict.to} by hand, and --drop '{part.name}=…' or delete it where it stands"
        yield Problem(where=part.name, what=what, fix=fix)
