"""Lifting: an operation in a file of the pin's own → what is written there of it, for the place where it belongs now.

With the comments above it, and everything that its author says beside it.
"""

from __future__ import annotations

import ast
import json
from dataclasses import replace

from npu_overlays.model.definitions import first_line
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import leaf_of
from npu_overlays.model.splices import Splice, splice
from npu_overlays.model.texts import reindent, renamed
from npu_overlays.overlay.operations import Operation
from npu_overlays.porting.restating import Move
from npu_overlays.refreshing.importing import Markers
from npu_overlays.refreshing.rendering import where
from npu_overlays.refreshing.rewriting import statement_at


def lifted(move: Move, content: bytes) -> Move:
    """Return a move that says what is written of it in its file, where it stands on lines of its own.

    Args:
        move: an operation that goes to another file.
        content: the file that it is written in.
    """
    text = Module(move.operation.file, content)
    node = statement_at(text, move.operation.line)
    end = node.end_lineno or node.lineno
    shares = any(
        one is not node and _lines(one)[0] <= end and _lines(one)[1] >= node.lineno for one in _beside(text, node)
    )
    if shares or not text.begins_line(node):
        return move
    lines = text.lines(_first_line(text, node), end)
    written = reindent(lines, old=text.indentation(node), new="").replace("\r\n", "\n").rstrip("\n") + "\n"
    return replace(move, written=_called(written, Markers(text.tree), move.operation, move.symbol))


def _beside(text: Module, node: ast.stmt) -> list[ast.stmt]:
    bodies = (one.body for one in ast.walk(text.tree) if isinstance(one, (ast.Module, ast.ClassDef)))
    return next(body for body in bodies if node in body)


def _lines(node: ast.stmt) -> tuple[int, int]:
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
