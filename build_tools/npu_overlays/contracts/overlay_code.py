"""Code: overlay → its own text, one piece for each operation and added file, with what its names mean."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from npu_overlays.contracts.edited_definitions import MergedModules
from npu_overlays.errors import MergeError
from npu_overlays.merging.results import Applied
from npu_overlays.model.chains import Chain, attributes, chains
from npu_overlays.model.free_names import FreeNames
from npu_overlays.model.imports import all_imported
from npu_overlays.model.module import Module
from npu_overlays.model.shipped_modules import is_package_file, module_name
from npu_overlays.model.symbols import Imported
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
class Code:
    """One piece of an overlay's text.

    Args:
        reader: what it is called in locks, ``wrapped path:symbol`` or ``file path``.
        path: repository path of the module it becomes part of.
        operation: the operation it is the text of; None for an added file.
        file: the overlay's file, and the line of it on which the text begins.
        tree: its syntax; of an edit the definition that it leaves, where that is known.
        imports: what its imports bind.
        written: of an edit, the nodes of its syntax that are not upstream's; None where all are the overlay's.
    """

    reader: str
    path: str
    operation: Operation | None
    file: str
    line: int
    tree: ast.Module
    imports: Mapping[str, Imported] = field(repr=False)
    written: frozenset[ast.AST] | None = field(default=None, repr=False)

    @cached_property
    def names(self) -> FreeNames:
        """What its names mean."""
        return FreeNames(self.tree)

    def says(self, node: ast.AST) -> bool:
        """Return whether a node of its syntax is the overlay's."""
        return self.written is None or node in self.written

    def chains(self, part: ast.AST) -> Iterator[tuple[Chain, ast.expr]]:
        """Yield what the overlay reads in a part of its syntax."""
        return ((names, node) for names, node in chains(part) if self.says(node))

    def where(self, node: ast.AST) -> str:
        """Return file and line of a node of its syntax."""
        return f"{self.file}:{self.line + getattr(node, 'lineno', 1) - 1}"

    @property
    def owner(self) -> str:
        """The class whose member it is; empty for anything else."""
        return self.operation.owner if self.operation else ""


class Codes:
    """All text of an overlay, and what its pieces call each other.

    Args:
        content: the overlay.
        applied: what applying it gave, from which is known what its edits read.
    """

    def __init__(self, content: Content, applied: Applied | None = None) -> None:
        pin = content.overlay.pin
        merged = MergedModules(applied) if applied else None
        files = [_of_file(one, pin) for one in content.files if one.path.endswith(".py")]
        operations = [_of_operation(one, pin, merged) for one in content.operations]
        self.all = [one for one in (*operations, *files) if one is not None]
        self._files = {module_name(pin.place(one.path)): one for one in self.all if one.operation is None}
        self._added = {
            (one.path, one.operation.name): one
            for one in self.all
            if one.operation and one.operation.action in ("added", "replaced")
        }

    def holds(self, module: str) -> bool:
        """Return whether a dotted name is that of an added file, which is not upstream's."""
        return module in self._files

    def own(self, code: Code, name: str) -> tuple[Code, ast.AST] | None:
        """Return the piece of the overlay that a global name in another one means, or None."""
        if (known := code.imports.get(name)) is not None:
            file = self._files.get(known.module)
            node = _definition(file, known.name) if file else None
            return (file, node) if file and node else None
        if code.operation is None:
            node = _definition(code, name)
            return (code, node) if node else None
        other = self._added.get((code.path, name))
        return (other, other.tree) if other else None

    def vocabulary(self, code: Code) -> frozenset[str]:
        """Return the attributes that a piece asks for, of whatever, and those that what it calls asks for."""
        return frozenset(
            name for at, part in self._reached(code) for name in attributes(filter(at.says, ast.walk(part)))
        )

    def operators(self, code: Code) -> frozenset[str]:
        """Return the operators, ``npu.npu_swiglu``, that a piece, or what it calls, names as ``torch.ops.npu.…``."""
        read = (pair for at, part in self._reached(code) for pair in at.chains(part))
        named = (chain for chain, node in read if not _asks_whether(node))
        return frozenset(f"{chain[2]}.{chain[3]}" for chain in named if chain[:2] == _OPERATORS and len(chain) > _AT)

    def _reached(self, code: Code) -> Iterator[tuple[Code, ast.AST]]:
        """Yield a piece's own text, and that of the overlay's which it calls."""
        pending: list[tuple[Code, ast.AST]] = [(code, code.tree)]
        pending += [inner for name in _new_names(code.operation) if (inner := self.own(code, name))]
        seen: set[int] = set()
        while pending:
            at, part = pending.pop()
            if id(part) not in seen:
                seen.add(id(part))
                yield at, part
                names = {chain[0] for chain, _ in at.chains(part)}
                pending += [inner for name in names if (inner := self.own(at, name))]


def called_operators(content: Content) -> dict[Operation, frozenset[str]]:
    """Return what an overlay puts in the place of upstream's code, or in front of it, that calls such operators."""
    codes = Codes(content)
    changing = [one for one in codes.all if one.operation and one.operation.action not in ("added", "deleted")]
    return {one.operation: found for one in changing if one.operation and (found := codes.operators(one))}


def readers(content: Content) -> dict[str, tuple[str, Bounds]]:
    """Return what may read something of upstream's, as locks call it: its layer, and for which versions it is."""
    found = {reader_of(one): (one.layer, one.bounds) for one in content.operations}
    return found | {f"file {one.path}": (one.layer, one.bounds) for one in content.files if one.path.endswith(".py")}


def reader_of(operation: Operation) -> str:
    """Return what an operation is called in locks, where they say who reads something."""
    return f"{operation.action} {operation.path}:{operation.symbol}"


def _new_names(operation: Operation | None) -> list[str]:
    """Return the names with which an edit's replacements begin to get at something, and its finds do not."""
    edits = operation.edits if operation else ()
    old = {name for edit in edits for name in _beginnings(edit.find)}
    return [name for edit in edits for name in _beginnings(edit.replace) if name not in old]


def _beginnings(text: str) -> Iterator[str]:
    texts = ["", *(one.text for one in significant(text))]
    return (name for before, name in pairwise(texts) if before != "." and name.isidentifier())


def _asks_whether(node: ast.AST) -> bool:
    """Return whether a node only asks whether something is there, as a guard does."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "hasattr"


def _definition(code: Code | None, name: str) -> ast.AST | None:
    body = code.tree.body if code else []
    return next((node for node in body if getattr(node, "name", "") == name), None)


def _of_file(file: OverlayFile, pin: Pin) -> Code | None:
    try:
        tree = Module(file.path, file.content).tree
    except MergeError:
        return None
    return Code(
        reader=f"file {file.path}",
        path=file.path,
        operation=None,
        file=file.file,
        line=1,
        tree=tree,
        imports=_imported(file.path, pin, tree),
    )


def _of_operation(operation: Operation, pin: Pin, merged: MergedModules | None) -> Code | None:
    text = f"_ = {operation.text}" if operation.kind == "attribute" and operation.text else operation.text
    try:
        tree = Module(operation.where, text.encode()).tree
        imports = ast.parse("\n".join(one.statement for one in operation.imports))
    except (MergeError, SyntaxError):
        return None
    edited = merged.edited(operation) if merged and operation.action == "edited" else None
    tree = edited.tree if edited else tree
    header = next((getattr(node, "lineno", 1) for node in tree.body), 1)
    return Code(
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
    """Return by local name what imports bind in pieces of a module at some path."""
    own, package = module_name(pin.place(path)), is_package_file(path)
    return {one.local: one for tree in trees for one in all_imported(tree, own, package=package)}
