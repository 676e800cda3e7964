"""Overlay code: overlay → its own text, one piece for each operation and added file, with the meaning of its names."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from npu_overlays.contracts.edited_definitions import MergedModules
from npu_overlays.errors import MergeError
from npu_overlays.merge.results import Applied
from npu_overlays.model.attribute_chains import Chain, attributes, chains
from npu_overlays.model.free_names import FreeNames
from npu_overlays.model.imports import all_imported
from npu_overlays.model.module import Module
from npu_overlays.model.shipped_modules import is_package_file, module_name
from npu_overlays.model.symbols import Imported
from npu_overlays.model.syntax import is_name, nodes_of
from npu_overlays.model.tokens import significant
from npu_overlays.overlay.bounds import Bounds
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.layer_content import OverlayFile
from npu_overlays.overlay.operations import Operation
from npu_overlays.sources.pin import Pin

# How PyTorch names the operators that an accelerator's package brings.
_OPERATORS = ("torch", "ops")
_AT = 3


@dataclass(frozen=True, kw_only=True)
class CodePiece:
    """One piece of an overlay's text."""

    reader: str  # what it is called in locks, ``wrapped path:symbol`` or ``file path``
    path: str  # repository path of the module it becomes part of
    operation: Operation | None  # the operation it is the text of; None for an added file
    file: str  # the overlay's
    line: int  # of that file, on which the text begins
    tree: ast.Module  # its syntax; of an edit the definition that it leaves, where that is known
    imports: Mapping[str, Imported] = field(repr=False)  # what its imports bind
    # Of an edit, the nodes of its syntax that are not upstream's; None where all are the overlay's.
    written: frozenset[ast.AST] | None = field(default=None, repr=False)

    @cached_property
    def names(self) -> FreeNames:
        """The meaning of its names."""
        return FreeNames(self.tree)

    def says(self, node: ast.AST) -> bool:
        """Return whether the overlay wrote a node of its syntax."""
        return self.written is None or node in self.written

    def chains(self, part: ast.AST) -> Iterator[tuple[Chain, ast.expr]]:
        """Yield the attribute chains that the overlay reads in a part of its syntax."""
        for names, node in chains(part):
            if self.says(node):
                yield names, node

    def where(self, node: ast.AST) -> str:
        """Return file and line of a node of its syntax."""
        return f"{self.file}:{self.line + getattr(node, 'lineno', 1) - 1}"

    @property
    def owner(self) -> str:
        """The class of a member; empty for any other piece."""
        return self.operation.owner if self.operation else ""


class OverlayCode:
    """All text of an overlay, and the names by which its pieces refer to each other.

    Args:
        content: the overlay.
        applied: the result of applying it, which shows what its edits read.
    """

    def __init__(self, content: Content, applied: Applied | None = None) -> None:
        pin = content.overlay.pin
        merged = MergedModules(applied) if applied else None
        self.all: list[CodePiece] = []
        self._files: dict[str, CodePiece] = {}
        self._added: dict[tuple[str, str], CodePiece] = {}
        for operation in content.operations:
            if piece := _of_operation(operation, pin, merged):
                self.all.append(piece)
                if operation.action in ("added", "replaced"):
                    self._added[piece.path, operation.name] = piece
        for file in content.files:
            if file.path.endswith(".py") and (piece := _of_file(file, pin)):
                self.all.append(piece)
                self._files[module_name(pin.place(file.path))] = piece

    def holds(self, module: str) -> bool:
        """Return whether a dotted name belongs to an added file, and not to upstream."""
        return module in self._files

    def own(self, code: CodePiece, name: str) -> tuple[CodePiece, ast.AST] | None:
        """Return the piece that a global name in another piece refers to, or None."""
        if (known := code.imports.get(name)) is not None:
            file = self._files.get(known.module)
            node = _definition(file, known.name) if file else None
            return (file, node) if file and node else None
        if code.operation is None:
            node = _definition(code, name)
            return (code, node) if node else None
        other = self._added.get((code.path, name))
        return (other, other.tree) if other else None

    def vocabulary(self, code: CodePiece) -> frozenset[str]:
        """Return the attribute names that a piece reads from any object, those of pieces that it calls included."""
        found: set[str] = set()
        for piece, part in self._reached(code):
            found.update(attributes(filter(piece.says, ast.walk(part))))
        return frozenset(found)

    def operators(self, code: CodePiece) -> frozenset[str]:
        """Return the operators, ``npu.npu_swiglu``, that a piece, or a piece it calls, names as ``torch.ops.npu.…``."""
        found: set[str] = set()
        for piece, part in self._reached(code):
            for chain, node in piece.chains(part):
                # A guard only asks whether an operator is there.
                asks = isinstance(node, ast.Call) and is_name(node.func, "hasattr")
                if chain[:2] == _OPERATORS and len(chain) > _AT and not asks:
                    found.add(f"{chain[2]}.{chain[3]}")
        return frozenset(found)

    def _reached(self, code: CodePiece) -> Iterator[tuple[CodePiece, ast.AST]]:
        """Yield a piece and the pieces that it calls."""
        new: list[str] = []
        old: set[str] = set()
        edits = code.operation.edits if code.operation else ()
        for edit in edits:
            new += _beginnings(edit.replace)
            old.update(_beginnings(edit.find))
        pending = [(code, code.tree), *self._all_own(code, [name for name in new if name not in old])]
        seen: set[ast.AST] = set()
        while pending:
            piece, part = pending.pop()
            if part not in seen:
                seen.add(part)
                yield piece, part
                pending += self._all_own(piece, {chain[0] for chain, _ in piece.chains(part)})

    def _all_own(self, code: CodePiece, names: Iterable[str]) -> list[tuple[CodePiece, ast.AST]]:
        return list(filter(None, (self.own(code, name) for name in names)))


def called_operators(content: Content) -> dict[Operation, frozenset[str]]:
    """Return the replacements, wrappers and edits of an overlay that name such operators."""
    codes = OverlayCode(content)
    called: dict[Operation, frozenset[str]] = {}
    for piece in codes.all:
        operation = piece.operation
        if operation and operation.action not in ("added", "deleted") and (found := codes.operators(piece)):
            called[operation] = found
    return called


def readers(content: Content) -> dict[str, tuple[str, Bounds]]:
    """Return the readers of upstream's symbols by their names in locks, each with its layer and versions."""
    found = {reader_of(one): (one.layer, one.bounds) for one in content.operations}
    return found | {f"file {one.path}": (one.layer, one.bounds) for one in content.files if one.path.endswith(".py")}


def reader_of(operation: Operation) -> str:
    """Return an operation's name as a reader in locks."""
    return f"{operation.action} {operation.path}:{operation.symbol}"


def _beginnings(text: str) -> Iterator[str]:
    """Yield the names in a piece of code without a dot before them."""
    before = ""
    for token in significant(text):
        if before != "." and token.text.isidentifier():
            yield token.text
        before = token.text


def _definition(code: CodePiece | None, name: str) -> ast.AST | None:
    body = code.tree.body if code else []
    for node in body:
        if getattr(node, "name", "") == name:
            return node
    return None


def _of_file(file: OverlayFile, pin: Pin) -> CodePiece | None:
    try:
        tree = Module(file.path, file.content).tree
    except MergeError:
        return None
    return CodePiece(
        reader=f"file {file.path}",
        path=file.path,
        operation=None,
        file=file.file,
        line=1,
        tree=tree,
        imports=_imported(file.path, pin, tree),
    )


def _of_operation(operation: Operation, pin: Pin, merged: MergedModules | None) -> CodePiece | None:
    text = f"_ = {operation.text}" if operation.kind == "attribute" and operation.text else operation.text
    try:
        tree = Module(operation.where, text.encode()).tree
        imports = ast.parse("\n".join(one.statement for one in operation.imports))
    except (MergeError, SyntaxError):
        return None
    edited = merged.edited(operation) if merged and operation.action == "edited" else None
    tree = edited.tree if edited else tree
    header = tree.body[0].lineno if tree.body else 1
    return CodePiece(
        reader=reader_of(operation),
        path=operation.path,
        operation=operation,
        file=operation.file,
        line=operation.line - header + 1,
        tree=tree,
        imports=_imported(operation.path, pin, imports, tree),
        written=edited.written if edited else None,
    )


def _imported(path: str, pin: Pin, *trees: ast.Module) -> Mapping[str, Imported]:
    """Return the imports of a module's pieces by local name."""
    own, package = module_name(pin.place(path)), is_package_file(path)
    found: dict[str, Imported] = {}
    for tree in trees:
        found.update((one.local, one) for one in all_imported(nodes_of(tree), own, package=package))
    return found
