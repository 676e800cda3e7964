"""Parsed file: bytes of an overlay file → its syntax tree, with its markers and the imports its definitions may use."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from npu_overlays.errors import MergeError, Problem
from npu_overlays.model.definitions import bound_name
from npu_overlays.model.module import Module
from npu_overlays.overlay.operations import ACTIONS, Action, ImportedName, imported_names
from npu_overlays.overlay.parser.vocabulary import (
    LIKE,
    MARKERS,
    MARKERS_MODULE,
    import_of_markers,
    means_markers,
    meant_import,
    nearest_marker,
)

ImportNode: TypeAlias = ast.Import | ast.ImportFrom


@dataclass(frozen=True, kw_only=True)
class ParsedFile:
    """An overlay file, and its imports."""

    file: str  # name of the file, for messages
    layer: str  # name of the layer it belongs to, or of the pin
    module: Module  # the parsed file
    target: str  # repository path its operations apply to; empty for a file of ``shared/``
    markers: Mapping[str, str]  # markers by the names the file has for them
    imports: tuple[ImportedName, ...]  # names for its definitions, in the order in which they are imported

    def where(self, node: ast.AST) -> str:
        """Return file and line of a node."""
        return f"{self.file}:{getattr(node, 'lineno', 1)}"

    def problem(self, node: ast.AST, what: str, fix: str) -> Problem:
        """Return what is wrong at a node, and what to do."""
        return Problem(where=self.where(node), what=what, fix=fix)

    @property
    def upstream_name(self) -> str:
        """The name by which wrappers call the original."""
        return next(
            (name for name, marker in self.markers.items() if marker == "upstream" and "." not in name), "upstream"
        )

    def marker_call(self, node: ast.AST | None) -> ast.Call | None:
        """Return `node` if it is a call of a marker, else None."""
        return node if isinstance(node, ast.Call) and self._action(node) else None

    def like_calls(self, node: ast.expr) -> list[ast.Call]:
        """Return the calls of `like` that a value is or lists."""
        listed = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
        return [one for one in listed if isinstance(one, ast.Call) and self._marker(one) == LIKE]

    def action(self, call: ast.Call) -> Action:
        """Return the action of a marker's call."""
        action = self._action(call)
        assert action  # noqa: S101  # `marker_call` found it
        return action

    def _action(self, call: ast.Call) -> Action | None:
        return next((action for action in ACTIONS if action == self._marker(call)), None)

    def _marker(self, call: ast.Call) -> str:
        """Return the marker of a call; empty for any other call."""
        named = isinstance(call.func, (ast.Name, ast.Attribute))
        return self.markers.get(ast.unparse(call.func), "") if named else ""


def parse_file(file: str, content: bytes, *, layer: str, target: str) -> ParsedFile:
    """Return an overlay file with its imports; the arguments are as in `ParsedFile`.

    Raises:
        MergeError: it is not valid Python.
    """
    module = _module(file, content)
    markers: dict[str, str] = {}
    imports: list[ImportedName] = []
    for node in module.tree.body:
        if isinstance(node, ImportNode):
            if _has_markers(node):
                for alias in node.names:
                    if alias.name == "*":
                        markers |= {marker: marker for marker in MARKERS}
                    elif isinstance(node, ast.Import) or alias.name == "markers":
                        markers |= {f"{alias.asname or alias.name}.{marker}": marker for marker in MARKERS}
                    else:
                        markers[bound_name(node, alias)] = alias.name
            elif _module_of(node) != "__future__":
                imports += (one for one in imported_names(node) if one.name != "*")
    return ParsedFile(file=file, layer=layer, module=module, target=target, markers=markers, imports=tuple(imports))


def _module(file: str, content: bytes) -> Module:
    """Return an overlay file, parsed; raises `MergeError` with what to do."""
    try:
        return Module(file, content)
    except MergeError as error:
        problem = error.problems[0]
        fix = (
            "save it as UTF-8, and declare no other encoding"
            if problem.fix
            else meant_import(content) or "correct the syntax there"
        )
        raise MergeError(replace(problem, fix=fix)) from error


def import_problems(parsed: ParsedFile, node: ImportNode) -> Iterator[Problem]:
    """Yield what is wrong with an import of an overlay file."""
    module = _module_of(node)
    if _has_markers(node):
        yield from _marker_problems(parsed, node)
        return
    if module == "__future__":
        fix = "take it out: the __future__ imports of upstream's module apply to the overlay's text too"
        yield parsed.problem(node, "a __future__ import would change all of the upstream module", fix)
        return
    if module.startswith(".") and not parsed.target:
        yield parsed.problem(
            node, "a relative import means something else in every target", "write the absolute import"
        )
    for alias in node.names:
        if alias.name == "*":
            fix = "import each name that an operation uses"
            yield parsed.problem(node, f"`{ast.unparse(node)}` does not say which names it imports", fix)


def _marker_problems(parsed: ParsedFile, node: ImportNode) -> Iterator[Problem]:
    """Yield what is wrong with an import that is meant to be one of the markers."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.Import) or _module_of(node) != MARKERS_MODULE or names == ["*"]:
        meant = import_of_markers(names if set(names) <= {*MARKERS} else ())
        yield parsed.problem(node, f"`{ast.unparse(node)}` does not import the markers", meant)
        return
    for name in names:
        if name not in MARKERS:
            fix = nearest_marker(name) or f"use one of {', '.join(MARKERS)}"
            yield parsed.problem(node, f"{MARKERS_MODULE} has no `{name}`", fix)


def _has_markers(node: ImportNode) -> bool:
    """Return whether an import is of the markers, or was meant so."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.Import):
        return any(map(means_markers, names))
    return means_markers(_module_of(node), names)


def _module_of(node: ImportNode) -> str:
    """Return the module of a ``from`` import, with its dots; empty for a plain ``import``."""
    return "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
