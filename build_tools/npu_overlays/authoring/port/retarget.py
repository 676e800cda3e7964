"""Retarget: operations with new targets → the merge modules that state them for these targets."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from npu_overlays.authoring.port.parts import PortedPart
from npu_overlays.authoring.writer.marker_imports import Markers, bound_imports
from npu_overlays.authoring.writer.merge_module_text import OperationChange, rewritten, statement_at, top_names
from npu_overlays.authoring.writer.statements import where
from npu_overlays.errors import MergeError
from npu_overlays.model.code_blocks import reindent, renamed
from npu_overlays.model.definitions import first_line
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import plain
from npu_overlays.model.splices import Splice, splice
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.parser.vocabulary import MARKERS_MODULE
from npu_overlays.sources.tree import SourceTree


@dataclass(frozen=True, kw_only=True)
class Retarget:
    """An operation and its new target.

    Args:
        operation: the operation on the old target.
        wanted: the new operation, on the same target or a new one.
        source: the merge module whose statement is to be kept; None to write a new one.
    """

    operation: Operation
    wanted: Operation
    source: bytes | None = None

    @property
    def is_rename(self) -> bool:
        """Whether the statement keeps its place in the overlay and only gets another name."""
        one, other = self.operation, self.wanted
        return (one.path, one.owner) == (other.path, other.owner) and one.action != "deleted"

    @property
    def is_other_code(self) -> bool:
        """Whether its code changes, too: a shared definition has one code for all its targets."""
        one, leaf = self.operation, self.wanted.leaf
        text = renamed(one.text, leaf) if one.text and one.kind != "attribute" else one.text
        return (text, one.edits) != (self.wanted.text, self.wanted.edits)

    @property
    def obstacle(self) -> str:
        """Why it cannot be stated there as it is; empty if it can."""
        relative = [one.statement for one in self.operation.imports if one.statement.startswith("from .")]
        here, there = self.operation.path.rpartition("/")[0], self.wanted.path.rpartition("/")[0]
        if relative and here != there:
            return f"it imports relatively, `{relative[0]}`, and its file moved"
        return ""

    def is_stated_by(self, statement: object) -> bool:
        """Return whether another statement of the overlay makes the same change to the new target."""
        return isinstance(statement, Operation) and _effect(statement) == _effect(self.wanted)


def _effect(one: Operation) -> tuple[object, ...]:
    return one.path, one.symbol, one.action, one.kind, one.text, one.annotation, one.edits


def with_free_targets(found: Iterable[PortedPart]) -> Iterator[PortedPart]:
    """Yield parts without the proposals for a target that another operation has, or moves to as well."""
    listed = list(found)
    wanted = Counter(part.verdict.to for part in listed if _moves(part))
    staying = {part.name: part for part in listed if not _moves(part) and part.verdict.proposal != "drop"}
    for part in listed:
        verdict, operation = part.verdict, part.statement
        if not _moves(part) or not verdict.wanted or not isinstance(operation, Operation):
            yield part
            continue
        there = staying.get(verdict.to)
        # A killed port may have stated it there without taking out the old statement.
        is_done = there and Retarget(operation=operation, wanted=verdict.wanted).is_stated_by(there.statement)
        if wanted[verdict.to] > 1 or (there and not is_done):
            unknown = f"which operation belongs on {verdict.to}: another one is for it, too"
            yield replace(part, verdict=replace(verdict, proposal="", unknown=unknown))
        else:
            yield part


def _moves(part: PortedPart) -> bool:
    return part.verdict.proposal == "retarget" and part.verdict.to not in ("", part.name)


def obstacle_in(file: Path, move: Retarget) -> str:
    """Return why an operation cannot be stated in a file that exists; empty if it can."""
    try:
        content = file.read_bytes()
        module = Module(str(file), content)
        stated = read_operations(str(file), content, layer="", target=move.wanted.path)
    except (MergeError, OSError):
        return f"{file} is there already, and cannot be read"
    bound = bound_imports(module.tree)
    if not any(one.statement.startswith(f"from {MARKERS_MODULE} import ") for one in bound.values()):
        return f"{file} is there already, and is no merge module"
    # What keeps its place is changed there.
    others = [one for one in stated if not move.is_rename or one.symbol != move.operation.symbol]
    if any(one.symbol == move.wanted.symbol or plain(move.wanted.symbol).startswith(f"{one.name}.") for one in others):
        return f"{file} says something of it already"
    for one in move.operation.imports:
        known = bound.get(one.name)
        if (known and known != one) or (not known and one.name in module.definitions):
            return f"{file} means something else by `{one.name}`"
    return ""


def restated(moves: Iterable[Retarget], known: Mapping[str, str], now: SourceTree) -> dict[str, bytes]:
    """Return, by repository path, the merge modules with the operations that move there.

    Args:
        moves: the operations.
        known: the merge modules that exist, by the same paths; `obstacle_in` found no obstacle in them.
        now: upstream, whose order of definitions the modules follow.
    """
    by_path: dict[str, list[Retarget]] = {}
    for move in moves:
        by_path.setdefault(move.wanted.path, []).append(move)
    found: dict[str, bytes] = {}
    for path, listed in by_path.items():
        docstring = f'"""What changes in {path}: stated anew for this version of upstream."""'
        blank = f"{docstring}\n\nfrom {MARKERS_MODULE} import *\n"
        text = Module(path, known.get(path, blank).encode())
        markers = Markers(text.tree)
        changes: list[OperationChange] = []
        statements: dict[str, str] = {}
        for move in listed:
            operation = _calling(move.wanted, markers.name("upstream"))
            changes.append(OperationChange(known=None, wanted=operation))
            if move.source is not None:
                statements[move.wanted.symbol] = _as_written(move, move.source, markers)
        order = top_names(Module(path, now.read(path)))
        found[path] = rewritten(path, text.content, changes, order, statements=statements) or b""
    return found


def _calling(operation: Operation, original: str) -> Operation:
    """Return an operation with another name for the original that its wrapper calls."""
    if operation.action != "wrapped":
        return operation
    text = _with_name(operation.text, operation.upstream_name, original)
    return replace(operation, text=text, upstream_name=original)


def _with_name(text: str, old: str, new: str) -> str:
    """Return code with a name replaced."""
    module = Module("", text.encode())
    splices: list[Splice] = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name) and node.id == old != new:
            start, end = module.span(node)
            splices.append(Splice(start=start, end=end, text=new, where=""))
    return splice(module.content, splices, newline="\n").decode()


def _as_written(move: Retarget, content: bytes, there: Markers) -> str:
    """Return an operation's statement as its author wrote it, with the comments above it, on its new target.

    Args:
        move: the operation.
        content: of the merge module that states it.
        there: the markers of the one it moves to.

    Returns:
        The statement at column 0; empty if it shares its lines with another one.
    """
    text = Module(move.operation.file, content)
    node = statement_at(text, move.operation.line)
    first, end = first_line(node), node.end_lineno or node.lineno
    for one in text.siblings(node):
        if one is not node and first_line(one) <= end and (one.end_lineno or one.lineno) >= node.lineno:
            return ""
    if not text.begins_line(node):
        return ""
    while first > 1 and text.lines(first - 1, first - 1).startswith(f"{text.indentation(node)}#"):
        first -= 1
    lines = reindent(text.lines(first, end), old=text.indentation(node), new="").replace("\r\n", "\n")
    own, leaf = Module("", f"{lines.rstrip()}\n".encode()), move.wanted.leaf
    (node,) = own.tree.body
    mark = Markers(text.tree).mark(node)
    exchanged: list[tuple[ast.expr, str]] = [(mark.func, there.name(move.operation.action))]
    if move.operation.action == "deleted":
        exchanged.append((mark.args[0], json.dumps(leaf)))
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        exchanged.append((node.targets[0] if isinstance(node, ast.Assign) else node.target, leaf))
    splices = _selecting(own, mark, move.wanted)
    for part, new in exchanged:
        start, end = own.span(part)
        splices.append(Splice(start=start, end=end, text=new, where=""))
    written = renamed(splice(own.content, splices, newline="\n").decode(), leaf)
    if move.operation.action == "wrapped":
        written = _with_name(written, move.operation.upstream_name, there.name("upstream"))
    return written


def _selecting(own: Module, mark: ast.Call, result: Operation) -> list[Splice]:
    """Return the splices that make a marker select one of several definitions."""
    selecting = where(replace(result, text="" if result.kind == "attribute" else result.text))
    for one in mark.keywords:
        if one.arg == "where":
            start, end = own.span(one.value)
            return [Splice(start=start, end=end, text=selecting or '""', where="")]
    end = own.span(mark)[1] - 1
    gap = " " if own.content[:end].rstrip().endswith(b",") else ", "
    return [Splice(start=end, end=end, text=f"{gap}where={selecting}", where="")] if selecting else []
