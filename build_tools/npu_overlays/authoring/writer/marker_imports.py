"""Marker imports: a merge module whose operations changed → the module with the imports they need, and no others."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from npu_overlays.model.code_blocks import names_in
from npu_overlays.model.definitions import bound_name
from npu_overlays.model.module import Module
from npu_overlays.model.splices import Splice, splice
from npu_overlays.overlay.operations import ACTIONS, ImportedName, Operation, imported_names
from npu_overlays.overlay.parser.vocabulary import MARKERS, MARKERS_MODULE


class Markers:
    """The markers of a merge module, by the names that it has for them; what it does not import has its own."""

    def __init__(self, tree: ast.Module) -> None:
        given: dict[str, str] = {}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == MARKERS_MODULE:
                given |= {bound_name(node, alias): alias.name for alias in node.names if alias.name != "*"}
        self._markers = {name: name for name in MARKERS} | given
        self._names = {marker: name for name, marker in given.items()}

    def action(self, node: ast.AST) -> str:
        """Return the operation that a call asks for; empty for anything else."""
        called = node.func if isinstance(node, ast.Call) else None
        marker = self._markers.get(called.id, "") if isinstance(called, ast.Name) else ""
        return marker if marker in ACTIONS else ""

    def mark(self, node: ast.stmt) -> ast.Call:
        """Return the call that marks a statement of a merge module."""
        return next(one for one in ast.walk(node) if isinstance(one, ast.Call) and self.action(one))

    def name(self, action: str) -> str:
        """Return what the module calls a marker."""
        return self._names.get(action, action)


def bound_imports(tree: ast.Module) -> dict[str, ImportedName]:
    """Return the imports at the top of a module, by the names that they bind."""
    found: dict[str, ImportedName] = {}
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {one.name: one for one in imported_names(node)}
    return found


def with_imports(text: Module, wanted: Iterable[Operation]) -> bytes:
    """Return the module with the imports that its operations need, and without those that none needs any more.

    Where it binds a name by another import than they need, theirs takes its place.
    """
    nodes = [node for node in text.tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    bound = bound_imports(text.tree)
    missing: dict[str, ImportedName] = {}
    for operation in wanted:
        for one in operation.imports:
            known = bound.get(one.name)
            if not (known and (known == one or (known.binds_package and one.binds_package))):
                missing[one.name] = one
    used = _used(text)
    unbound = [name for name in MARKERS if name in used and name not in bound]
    splices: list[Splice] = []
    for node in nodes:
        splices += _kept(text, node, used, missing, unbound if node is _markers(nodes) else ())
    placed = frozenset(map(_alone, nodes))
    lines = sorted(one.statement for name, one in missing.items() if name not in placed)
    if lines:
        at = text.offset(_markers(nodes).lineno) if _markers(nodes) else 0
        splices.append(Splice(start=at, end=at, text=_in_groups(lines), where=""))
    return splice(text.content, splices, newline=text.newline)


def _alone(node: ast.Import | ast.ImportFrom) -> str:
    """Return the name that an import binds, if it is one."""
    return bound_name(node, node.names[0]) if len(node.names) == 1 else ""


def _in_groups(statements: Sequence[str]) -> str:
    """Return imports as they are usually sorted: those of the standard library first, each group with a line below."""
    groups: tuple[list[str], list[str]] = ([], [])
    for line in statements:
        module = re.split(r"[ .]", line.partition(" ")[2])[0]
        groups[module not in sys.stdlib_module_names].append(f"{line}\n")
    return "".join("".join(group) + "\n" for group in groups if group)


def _markers(nodes: Sequence[ast.Import | ast.ImportFrom]) -> ast.ImportFrom:
    return next(node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == MARKERS_MODULE)


def _used(text: Module) -> frozenset[str]:
    """Return the names that the module's operations use: in their texts, and in what substitutions put in."""
    names: set[str] = set()
    markers = Markers(text.tree)
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Call) and markers.action(node) == "edited":
            for one in node.args:
                part = one.elts[1] if isinstance(one, ast.Tuple) and len(one.elts) > 1 else None
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    names |= names_in(part.value)
    return frozenset(names)


def _kept(
    text: Module,
    node: ast.Import | ast.ImportFrom,
    used: frozenset[str],
    other: Mapping[str, ImportedName],
    markers: Sequence[str],
) -> Iterator[Splice]:
    """Yield how an import changes: names that nothing uses, or that others bind, go; some markers are added."""
    if new := other.get(_alone(node)):
        start, end = text.span(node)
        yield Splice(start=start, end=end, text=new.statement, where="")
        return
    is_markers = isinstance(node, ast.ImportFrom) and node.module == MARKERS_MODULE
    known = [(bound_name(node, alias), alias) for alias in node.names if alias.name != "*"]
    kept = [alias for name, alias in known if name in used and name not in other]
    names = list(map(ast.unparse, kept))
    if is_markers:
        names += markers
        if names == [alias.name for _, alias in known] and len(known) == len(node.names):
            return
        names.sort()
    elif len(kept) == len(node.names):
        return
    start, end = text.span(node)
    if not names:
        yield Splice(start=start, end=text.line_end(node.end_lineno or node.lineno), text="", where="")
        return
    head = f"from {'.' * node.level}{node.module or ''} import " if isinstance(node, ast.ImportFrom) else "import "
    yield Splice(start=start, end=end, text=head + ", ".join(names), where="")
