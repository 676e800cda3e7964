"""Merge module text: a merge module and the changes to its operations → the changed text, all else in it kept."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from npu_overlays.authoring.writer.amendments import amended
from npu_overlays.authoring.writer.marker_imports import Markers, with_imports
from npu_overlays.authoring.writer.statements import literal, statement
from npu_overlays.model.code_blocks import reindent
from npu_overlays.model.definitions import first_line
from npu_overlays.model.encodings import as_declared
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import accessor
from npu_overlays.model.splices import Splice, splice
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.parser.vocabulary import MARKERS_MODULE

_STEP = "    "
_GONE = "pass  # gone"


@dataclass(frozen=True, kw_only=True)
class OperationChange:
    """An operation of an overlay, and the one that there should be; None for none."""

    known: Operation | None
    wanted: Operation | None
    # Of a shared definition, the targets that stay as they are, where others go; None for all.
    targets: tuple[str, ...] | None = None

    @property
    def one(self) -> Operation:
        """The operation that there should be, or else the one that there is."""
        found = self.wanted or self.known
        assert found is not None  # noqa: S101  # a change has one of the two
        return found

    @property
    def symbol(self) -> str:
        """The symbol of both."""
        return self.one.symbol

    @property
    def target(self) -> str:
        """The symbol with its file, ``path:Symbol``."""
        return f"{self.one.path}:{self.one.symbol}"

    @property
    def is_addition(self) -> bool:
        """Whether there is an operation now that adds a definition, and there was none."""
        return self.known is None and self.one.action == "added"


def rewritten(
    path: str,
    content: bytes,
    changes: Sequence[OperationChange],
    order: Sequence[str],
    *,
    statements: Mapping[str, str] | None = None,
) -> bytes | None:
    """Return a merge module with operations changed, taken out and put in; None if none is left.

    Args:
        path: of the file, for messages.
        content: its bytes.
        changes: of its operations; those that it does not hold are new.
        order: the symbols of the module it changes, in their order.
        statements: those of new operations that are written already, by symbol, at column 0.
    """
    text = Module(path, content)
    splices: list[Splice] = []
    for one in changes:
        if one.known:
            splices += _exchanged(text, one, one.known)
    text = Module(path, splice(text.content, splices, newline=text.newline))
    for one in changes:
        if one.wanted and not one.known:
            insertion = _inserted(text, one.wanted, order, (statements or {}).get(one.symbol, ""))
            text = Module(path, splice(text.content, [insertion], newline=text.newline))
    text = Module(path, _without_empty_classes(text))
    text = Module(path, with_imports(text, [one.wanted for one in changes if one.wanted]))
    markers = Markers(text.tree)
    return as_declared(text.content, text.file) if any(map(markers.action, ast.walk(text.tree))) else None


def blank(path: str) -> bytes:
    """Return a merge module that holds nothing yet."""
    return (
        f'"""Changes to {path.rpartition("/")[2].removesuffix(".py")}."""\n\nfrom {MARKERS_MODULE} import *\n'.encode()
    )


def top_names(module: Module) -> list[str]:
    """Return the names that a module defines at its top, in their order."""
    return list(dict.fromkeys(name.partition(".")[0] for name in module.definitions))


def _exchanged(text: Module, change: OperationChange, known: Operation) -> Iterator[Splice]:
    """Yield what makes the statement of a known operation say what is wanted."""
    node = statement_at(text, known.line)
    end = text.line_end(node.end_lineno or node.lineno)
    where, margin = known.where, text.indentation(node)
    if change.targets:
        yield _retargeted(text, node, change.targets)
    elif change.wanted is None:
        # A class must hold something until it is known whether it holds anything else.
        yield Splice(start=_above(text, node), end=end, text=f"{margin}{_GONE}\n" if margin else "", where=where)
    else:
        yield from amended(text, node, known, change.wanted)
        yield from _stand(text, node, known.leaf, change.wanted.leaf)


def _stand(text: Module, node: ast.stmt, old: str, new: str) -> Iterator[Splice]:
    """Yield the exchange of the name in ``value = property()``, on which an accessor stands that gets another name."""
    if old == new or not accessor(node):
        return
    for one in text.siblings(node):
        targets = one.targets if isinstance(one, ast.Assign) else []
        if list(map(ast.unparse, targets)) == [old]:
            start, end = text.span(targets[0])
            yield Splice(start=start, end=end, text=new, where="")


def _retargeted(text: Module, node: ast.stmt, targets: Sequence[str]) -> Splice:
    """Return the exchange of the targets of a shared definition."""
    value = next(one.value for one in Markers(text.tree).mark(node).keywords if one.arg == "targets")
    start, end = text.span(value)
    margin = text.line_indentation(value.lineno)
    lines = "".join(f"{margin}{_STEP}{literal(target)},\n" for target in targets)
    return Splice(start=start, end=end, text=f"[\n{lines}{margin}]", where="")


def _above(text: Module, node: ast.stmt) -> int:
    """Return where what is written right above a statement, and the blank lines above that, begin."""
    line = _commented(text, node)
    while line > 1 and not text.lines(line - 1, line - 1).strip():
        line -= 1
    return text.offset(line)


def _commented(text: Module, node: ast.stmt) -> int:
    """Return the first line of what is written right above a statement: its own, if there is nothing."""
    line = first_line(node)
    while line > 1 and text.lines(line - 1, line - 1).lstrip().startswith("#"):
        line -= 1
    return line


def statement_at(text: Module, line: int) -> ast.stmt:
    """Return the statement of an operation that is written on a line of a merge module."""
    found = [node for node in ast.walk(text.tree) if isinstance(node, ast.stmt) and node.lineno == line]
    return found[0]  # the outermost comes first, and an operation is the first thing on its line


def _inserted(text: Module, operation: Operation, order: Sequence[str], written: str) -> Splice:
    """Return the insertion of an operation: in its class, or at its place among the others."""
    parent = operation.owner
    new = written or statement(operation, marker=Markers(text.tree).name(operation.action))
    if f"\n@{operation.leaf}." in new and operation.name not in text.definitions:
        new = f"{operation.leaf} = property()\n\n{new}"
    while parent:
        owner = next((one.node for one in text.definitions.get(parent, [])), None)
        if isinstance(owner, ast.ClassDef) and text.begins_line(owner.body[0]):
            margin = text.indentation(owner.body[0])
            end = text.line_end(owner.end_lineno or owner.lineno)
            gap = "" if text.content[:end].endswith(b"\n") else "\n"
            return Splice(
                start=end, end=end, text=f"{gap}\n" + reindent(new, old="", new=margin), where=operation.where
            )
        parent, _, leaf = parent.rpartition(".")
        new = f"class {leaf}:\n" + reindent(new, old="", new=_STEP)
    return _at_top(text, operation, new, order)


def _at_top(text: Module, operation: Operation, new: str, order: Sequence[str]) -> Splice:
    place, markers = _number(order, operation.name), Markers(text.tree)
    for node in text.tree.body:
        if any(_number(order, name) > place for name in _names(node, markers)):
            start = text.offset(_commented(text, node))
            return Splice(start=start, end=start, text=f"{new}\n\n", where=operation.where)
    end = len(text.content)
    gap = "\n" if end and not text.content.endswith(b"\n") else ""
    return Splice(start=end, end=end, text=f"{gap}\n\n{new}", where=operation.where)


def _number(order: Sequence[str], symbol: str) -> int:
    top = symbol.partition(".")[0]
    return order.index(top) if top in order else len(order)


def _names(node: ast.stmt, markers: Markers) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (target.id for target in targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and markers.action(node.value):
        yield from (str(one.value) for one in node.value.args[:1] if isinstance(one, ast.Constant))


def _without_empty_classes(text: Module) -> bytes:
    """Return the module without classes that have no operation left, and without placeholders of removed statements."""
    while True:
        empty = [node for node in ast.walk(text.tree) if isinstance(node, ast.ClassDef) and _is_empty(node)]
        if not empty:
            return re.sub(rb"\n[ \t]*" + _GONE.encode() + rb"(?=\r?\n)", b"", text.content)
        node = empty[0]
        end, margin = text.line_end(node.end_lineno or node.lineno), text.indentation(node)
        cut = Splice(start=_above(text, node), end=end, text=f"{margin}{_GONE}\n" if margin else "", where="")
        text = Module(text.path, splice(text.content, [cut], newline=text.newline))


def _is_empty(node: ast.ClassDef) -> bool:
    docstring = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
    rest = [one for one in node.body if not isinstance(one, ast.Pass)]
    return not node.decorator_list and len(rest) <= docstring
