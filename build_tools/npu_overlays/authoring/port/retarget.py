"""Restating: operations whose targets have moved → the merge modules that say the same of the new targets."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from npu_overlays.authoring.writer.marker_imports import Markers
from npu_overlays.authoring.writer.merge_module_text import statement_at
from npu_overlays.authoring.writer.statements import where
from npu_overlays.errors import MergeError
from npu_overlays.overlay.bounds import SINCE_UNTIL
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.reading.vocabulary import MARKERS_MODULE
from npu_overlays.syntax.definitions import bound_name, first_line
from npu_overlays.syntax.selectors import leaf_of, owner_of, plain
from npu_overlays.syntax.splices import Splice, splice
from npu_overlays.syntax.symbols import Module
from npu_overlays.syntax.texts import reindent, renamed

_STEP = "    "
_LONG = 90
_MARKERS = "marker"


@dataclass(frozen=True, kw_only=True)
class Retarget:
    """An operation and its new target.

    Args:
        operation: as it is stated for the old target.
        path: repository path of the new one.
        symbol: its qualified name.
        written: the statement for the new target, if it is the old one as its author wrote it.
    """

    operation: Operation
    path: str
    symbol: str
    written: str = ""

    @property
    def result(self) -> Operation:
        """The operation on its new target."""
        one = self.operation
        text = renamed(one.text, leaf_of(self.symbol)) if one.text and one.kind != "attribute" else one.text
        return replace(one, path=self.path, symbol=self.symbol, text=text, shared="")

    @property
    def is_rename(self) -> bool:
        """Whether the statement keeps its place in the overlay, and only gets another name."""
        one, owner = self.operation, owner_of(self.symbol)
        return one.path == self.path and one.owner == owner and one.action != "deleted"

    @property
    def obstacle(self) -> str:
        """Why it cannot be stated there as it is; empty if it can."""
        relative = [one.statement for one in self.operation.imports if one.statement.startswith("from .")]
        here, there = self.operation.path.rpartition("/")[0], self.path.rpartition("/")[0]
        if relative and here != there:
            return f"it imports relatively, `{relative[0]}`, and its file moved"
        return ""

    def is_stated_by(self, statement: object) -> bool:
        """Return whether another statement of the overlay does the same to the new target."""
        return isinstance(statement, Operation) and _effect(statement) == _effect(self.result)


def _effect(one: Operation) -> tuple[object, ...]:
    return one.path, one.symbol, one.action, one.kind, one.text, one.annotation, one.edits


def restated(moves: Iterable[Retarget], known: Mapping[str, str]) -> dict[str, str]:
    """Return, by repository path, the text of a merge module for the moved operations on each file.

    Args:
        moves: the operations.
        known: the merge modules there are, by the same paths, to which `obstacle_in` knows no obstacle.
    """
    by_path: dict[str, list[Retarget]] = {}
    for move in moves:
        by_path.setdefault(move.path, []).append(move)
    return {path: _module(listed, known.get(path) or _blank(path)) for path, listed in by_path.items()}


def obstacle_in(file: Path, move: Retarget) -> str:
    """Return why an operation cannot be stated in a file that is there, or an empty text."""
    try:
        content = file.read_bytes()
        module = Module(str(file), content)
        imported = _imported(module)
        said = read_operations(str(file), content, layer="", target=move.path)
    except (MergeError, OSError):
        return f"{file} is there already, and cannot be read"
    if not any(source == _MARKERS for source in imported.values()):
        return f"{file} is there already, and is no merge module"
    if any(one.symbol == move.symbol or plain(move.symbol).startswith(f"{one.name}.") for one in said):
        return f"{file} says something of it already"
    taken = [one.name for one in move.operation.imports if imported.get(one.name, one.statement) != one.statement]
    taken += [one.name for one in move.operation.imports if one.name in module.definitions and one.name not in imported]
    return f"{file} means something else by `{taken[0]}`" if taken else ""


def _imported(module: Module) -> dict[str, str]:
    """Return the names that a merge module imports, with the statement that binds each alone; for markers a word."""
    found: dict[str, str] = {}
    for node in module.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == MARKERS_MODULE:
            found |= {ast.unparse(alias): _MARKERS for alias in node.names}
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            source = f"from {'.' * node.level}{node.module or ''} " if isinstance(node, ast.ImportFrom) else ""
            found |= {bound_name(node, alias): f"{source}import {ast.unparse(alias)}" for alias in node.names}
    return found


def _blank(path: str) -> str:
    return f'"""What changes in {path}: stated anew where upstream moved it."""\n\nfrom {MARKERS_MODULE} import *\n'


def _module(moves: list[Retarget], text: str) -> str:
    """Return a merge module with moved operations behind what it says, and what they import above that."""
    module = Module("", text.encode())
    known = _imported(module)
    original = next((name for name, source in known.items() if source == _MARKERS and _is_original(name)), "")
    moves = [_calling(move, original) for move in moves]
    markers: set[str] = {move.operation.action for move in moves}
    markers |= {_upstream(move.operation) for move in moves if move.operation.action == "wrapped"}
    markers |= {name for name, source in known.items() if source == _MARKERS} - {"*"}
    needed = [one for move in moves for one in move.operation.imports if one.name not in known]
    lines = list(dict.fromkeys(one.statement for one in needed))
    lines += [*([""] if lines else []), f"from {MARKERS_MODULE} import {', '.join(sorted(markers))}"]
    nodes = [one for one in module.tree.body if isinstance(one, ast.ImportFrom) and one.module == MARKERS_MODULE]
    spans = [module.span(node) for node in nodes]
    splices = [
        Splice(start=start, end=end, text="" if number else "\n".join(lines), where="")
        for number, (start, end) in enumerate(spans)
    ]
    merged = splice(module.content, splices, newline="\n").decode()
    return merged.rstrip() + "".join(f"\n\n\n{_nested(move)}" for move in moves) + "\n"


def _upstream(one: Operation) -> str:
    """Return how the name by which a wrapper calls the original is imported."""
    return "upstream" if one.upstream_name == "upstream" else f"upstream as {one.upstream_name}"


def _is_original(name: str) -> bool:
    return name == "upstream" or name.startswith("upstream as ")


def _calling(move: Retarget, original: str) -> Retarget:
    """Return a move whose wrapper calls the original as the module does that it goes to."""
    one, name = move.operation, original.rpartition(" ")[2]
    if one.action != "wrapped" or not name or name == one.upstream_name:
        return move
    text, written = (_with_name(part, one.upstream_name, name) for part in (one.text, move.written))
    return replace(move, operation=replace(one, text=text, upstream_name=name), written=written)


def _with_name(text: str, old: str, new: str) -> str:
    """Return code in which one name is another."""
    module = Module("", text.encode())
    nodes = (one for one in ast.walk(module.tree) if isinstance(one, ast.Name) and one.id == old)
    splices = [Splice(start=start, end=end, text=new, where="") for start, end in map(module.span, nodes)]
    return splice(module.content, splices, newline="\n").decode()


def _nested(move: Retarget) -> str:
    one = replace(move.operation, symbol=move.symbol)
    if one.action == "deleted" and not move.written:
        # Whatever the name leads through: a class, or a module that an assignment patches.
        return f"deleted({json.dumps(one.name)}, {', '.join(_arguments(one))})"
    *owners, leaf = one.name.split(".")
    text = move.written or _stated(one, leaf)
    for owner in reversed(owners):
        text = f"class {owner}:\n{reindent(text, old='', new=_STEP)}"
    return text.rstrip()


def _stated(one: Operation, name: str) -> str:
    arguments = ", ".join(_arguments(one))
    if one.kind == "attribute":
        annotation = f": {one.annotation}" if one.annotation else ""
        value = "" if one.action == "edited" else f"{one.text}, "
        return f"{name}{annotation} = {one.action}({value}{arguments})"
    if one.action == "edited":
        head = "class" if one.kind == "class" else "def"
        rest = "" if one.kind == "class" else "()"
        return f"@{one.action}(\n{_lines(_arguments(one))})\n{head} {name}{rest}: ..."
    return f"@{one.action}(\n{_lines(_arguments(one))})\n{renamed(one.text, name)}"


def _lines(arguments: Iterable[str]) -> str:
    return "".join(f"{_STEP}{argument},\n" for argument in arguments)


def _arguments(one: Operation) -> Iterator[str]:
    for edit in one.edits:
        parts = [_literal(edit.find), _literal(edit.replace), *([str(edit.count)] if edit.count != 1 else [])]
        yield f"({', '.join(parts)})"
    if one.action == "edited" and one.imports:
        yield f"uses=[{', '.join(dict.fromkeys(each.name for each in one.imports))}]"
    # What a bound says beside itself is not a condition of its author's.
    condition = "" if one.reason.drop_when == one.bounds.drop_when else one.reason.drop_when
    texts = {"why": one.reason.why, "forwarded": one.reason.forwarded, "drop_when": condition}
    texts |= {key: getattr(one.bounds, key) for key in SINCE_UNTIL}
    yield from (f"{key}={_literal(text)}" for key, text in texts.items() if text)
    if text := where(one):
        yield f"where={text}"
    if one.unproven:
        yield f"unproven={_literal(one.unproven)}"
    if one.accept:
        yield f"accept=[{', '.join(_quoted(str(each)) for each in one.accept)}]"
    if one.depends:
        yield f"depends=[{', '.join(map(_quoted, one.depends))}]"


def _literal(text: str) -> str:
    """Return a text as Python writes it, in several lines where it is long."""
    if len(text) <= _LONG:
        return _quoted(text)
    lines = "\n".join(f"{_STEP}{_STEP}{_quoted(part)}" for part in _parts(text))
    return f"(\n{lines}\n{_STEP})"


def _parts(text: str) -> list[str]:
    """Return a text in parts that together are it: its lines, and of a long one its words."""
    words = re.findall(r"\S*\n|\S*[^\S\n]+|\S+", text)
    parts = [""]
    for word in words:
        if parts[-1].endswith("\n") or len(parts[-1]) + len(word) > _LONG:
            parts.append("")
        parts[-1] += word
    return [part for part in parts if part]


def _quoted(text: str) -> str:
    return repr(text) if '"' in text and "'" not in text else json.dumps(text, ensure_ascii=False)


def extracted(move: Retarget, content: bytes) -> Retarget:
    """Return a move that says what is written of it in its file, where it stands on lines of its own.

    Args:
        move: an operation that goes to another file.
        content: the file that it is written in.
    """
    text = Module(move.operation.file, content)
    node = statement_at(text, move.operation.line)
    end = node.end_lineno or node.lineno
    shares = any(
        one is not node and _span(one)[0] <= end and _span(one)[1] >= node.lineno for one in _beside(text, node)
    )
    if shares or not text.begins_line(node):
        return move
    lines = text.lines(_first_line(text, node), end)
    written = reindent(lines, old=text.indentation(node), new="").replace("\r\n", "\n").rstrip("\n") + "\n"
    return replace(move, written=_called(written, Markers(text.tree), move.operation, move.symbol))


def _beside(text: Module, node: ast.stmt) -> list[ast.stmt]:
    bodies = (one.body for one in ast.walk(text.tree) if isinstance(one, (ast.Module, ast.ClassDef)))
    return next(body for body in bodies if node in body)


def _span(node: ast.stmt) -> tuple[int, int]:
    return first_line(node), node.end_lineno or node.lineno


def _first_line(text: Module, node: ast.stmt) -> int:
    """Return the first line of the comments right above a statement, or its own."""
    line = first_line(node)
    while line > 1 and text.lines(line - 1, line - 1).startswith(f"{text.indentation(node)}#"):
        line -= 1
    return line


def _leading(own: Module, mark: ast.Call, operation: Operation) -> list[Splice]:
    """Return what makes a marker say which of several definitions an operation means."""
    known = [one for one in mark.keywords if one.arg == "where"]
    leading = where(operation)
    if known:
        start, end = own.span(known[0].value)
        return [Splice(start=start, end=end, text=leading or '""', where="")]
    end = own.span(mark)[1] - 1
    gap = " " if own.content[:end].rstrip().endswith(b",") else ", "
    return [Splice(start=end, end=end, text=f"{gap}where={leading}", where="")] if leading else []


def _called(written: str, markers: Markers, operation: Operation, symbol: str) -> str:
    """Return a statement with its marker under its own name, and on its new symbol."""
    leaf = leaf_of(symbol)
    own = Module("", written.encode())
    (node,) = own.tree.body
    mark = markers.mark(node)
    exchanged: list[tuple[ast.expr, str]] = [(mark.func, operation.action)]
    if operation.action == "deleted":
        exchanged.append((mark.args[0], json.dumps(leaf)))
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        exchanged.append((node.targets[0] if isinstance(node, ast.Assign) else node.target, leaf))
    splices = [
        Splice(start=start, end=end, text=text, where="")
        for (start, end), text in ((own.span(part), text) for part, text in exchanged)
    ]
    text = renamed(operation.text, leaf) if operation.text and operation.kind != "attribute" else ""
    splices += _leading(own, mark, replace(operation, symbol=symbol, text=text))
    return renamed(splice(own.content, splices, newline="\n").decode(), leaf)
