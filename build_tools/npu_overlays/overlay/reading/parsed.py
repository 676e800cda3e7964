"""Parsed: bytes of an overlay file → its syntax tree, with the markers and the imports that its definitions may use."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from npu_overlays.errors import Problem
from npu_overlays.overlay.operations import ACTIONS, Action, ImportedName
from npu_overlays.overlay.reading.vocabulary import MARKERS, MARKERS_MODULE, TOOL, nearest_marker
from npu_overlays.syntax.definitions import bound_name
from npu_overlays.syntax.symbols import Module

ImportNode: TypeAlias = ast.Import | ast.ImportFrom


@dataclass(frozen=True, kw_only=True)
class ParsedFile:
    """An overlay file, and what its imports bring in.

    Args:
        file: name of the file, for messages.
        layer: name of the layer it belongs to, or of the pin.
        module: the parsed file.
        target: repository path its operations apply to; empty for a file of ``shared/``.
        markers: markers by the names the file has for them.
        imports: names for its definitions, in the order in which they are imported.
    """

    file: str
    layer: str
    module: Module
    target: str
    markers: Mapping[str, str]
    imports: tuple[ImportedName, ...]

    def where(self, node: ast.AST) -> str:
        """Return file and line of a node."""
        return f"{self.file}:{getattr(node, 'lineno', 1)}"

    def problem(self, node: ast.AST, what: str, fix: str = "") -> Problem:
        """Return what is wrong at a node, and what to do."""
        return Problem(where=self.where(node), what=what, fix=fix)

    @property
    def upstream_name(self) -> str:
        """The name by which wrappers call the original."""
        return next((name for name, marker in self.markers.items() if marker == "upstream"), "upstream")

    def marker_call(self, node: ast.AST | None) -> ast.Call | None:
        """Return `node` where it is a call that asks for an operation, otherwise None."""
        return node if isinstance(node, ast.Call) and self._action(node) else None

    def action(self, call: ast.Call) -> Action:
        """Return the operation that a marker's call asks for."""
        action = self._action(call)
        assert action  # noqa: S101  # `marker_call` found it
        return action

    def _action(self, call: ast.Call) -> Action | None:
        marker = self.markers.get(call.func.id) if isinstance(call.func, ast.Name) else None
        return next((action for action in ACTIONS if action == marker), None)


def parse_file(file: str, content: bytes, *, layer: str, target: str) -> ParsedFile:
    """Return an overlay file with what it imports; the arguments are as in `ParsedFile`.

    Raises:
        MergeError: it is no Python.
    """
    module = Module(file, content)
    nodes = [node for node in module.tree.body if isinstance(node, ImportNode)]
    return ParsedFile(
        file=file,
        layer=layer,
        module=module,
        target=target,
        markers={bound_name(node, alias): alias.name for node in filter(_has_markers, nodes) for alias in node.names},
        imports=tuple(one for node in nodes if not _has_markers(node) for one in _mergeable(node)),
    )


def import_problems(parsed: ParsedFile, node: ImportNode) -> Iterator[Problem]:
    """Yield what is wrong with an import of an overlay file."""
    module = _module_of(node)
    if _has_markers(node):
        for alias in node.names:
            if alias.name not in MARKERS:
                fix = nearest_marker(alias.name) or f"it has {', '.join(MARKERS)}"
                yield parsed.problem(node, f"{MARKERS_MODULE} has no `{alias.name}`", fix)
        return
    if module == "__future__":
        fix = "take it out: what upstream's module has of it holds for the overlay's text too"
        yield parsed.problem(node, "a __future__ import would change all of the upstream module", fix)
        return
    if module.startswith(".") and not parsed.target:
        yield parsed.problem(
            node, "a relative import means something else in every target", "write the absolute import"
        )
    for alias in node.names:
        if not _is_mergeable(module, alias):
            fix = f"from {MARKERS_MODULE} import NAME, …"
            yield parsed.problem(node, f"cannot merge this import of `{alias.name}`", fix)


def _has_markers(node: ImportNode) -> bool:
    return _module_of(node) == MARKERS_MODULE and all(alias.name != "*" for alias in node.names)


def _module_of(node: ImportNode) -> str:
    """Return the module that names are imported from, with its dots; empty for a plain ``import``."""
    return "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""


def _is_mergeable(module: str, alias: ast.alias) -> bool:
    return module != "__future__" and alias.name != "*" and (module or alias.name).partition(".")[0] != TOOL


def _mergeable(node: ImportNode) -> Iterator[ImportedName]:
    module = _module_of(node)
    for alias in node.names:
        if _is_mergeable(module, alias):
            as_name = f" as {alias.asname}" if alias.asname else ""
            statement = f"from {module} import {alias.name}{as_name}" if module else f"import {alias.name}{as_name}"
            yield ImportedName(name=bound_name(node, alias), statement=statement, line=node.lineno)
