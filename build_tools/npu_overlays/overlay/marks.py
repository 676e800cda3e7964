"""Marks: calls of the overlay vocabulary → what they ask for; by syntax, nothing is executed."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass, field

from npu_overlays.errors import Problem
from npu_overlays.overlay.operations import ACTIONS, Action, ImportedName, Operation
from npu_overlays.syntax.definitions import bound_name
from npu_overlays.syntax.symbols import Module

MARKERS_MODULE = "npu_overlays.markers"
_TOOL = "npu_overlays"
MARKERS = (*ACTIONS, "upstream")


@dataclass(kw_only=True)
class Reader:
    """What is read of one overlay file so far: markers by local name, imports, operations and mistakes.

    Args:
        file: name of the file, for messages.
        layer: name of the layer it belongs to, or of the pin.
        module: the parsed file.
        target: repository path its operations apply to; empty for a file of ``shared/``.
    """

    file: str
    layer: str
    module: Module
    target: str
    markers: dict[str, str] = field(default_factory=dict)
    imports: list[ImportedName] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def problem(self, node: ast.AST, what: str, fix: str = "") -> None:
        """Note a mistake."""
        self.problems.append(Problem(where=self.where(node), what=what, fix=fix))

    def where(self, node: ast.AST) -> str:
        """Return file and line of a node."""
        return f"{self.file}:{getattr(node, 'lineno', 1)}"

    @property
    def upstream_name(self) -> str:
        """The name by which wrappers call the original."""
        return next((name for name, marker in self.markers.items() if marker == "upstream"), "upstream")

    def marked(self, node: ast.expr | None) -> ast.Call | None:
        """Return `node` as a call where it calls an operation marker, otherwise None."""
        known = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        return node if known and self._action(node) else None  # type: ignore[return-value,arg-type]  # checked above

    def action(self, call: ast.Call) -> Action:
        """Return the operation a marker call asks for."""
        action = self._action(call)
        assert action  # noqa: S101  # `marked` found it
        return action

    def _action(self, call: ast.Call) -> Action | None:
        marker = self.markers.get(call.func.id) if isinstance(call.func, ast.Name) else None
        return next((action for action in ACTIONS if action == marker), None)


def uses_markers(content: bytes) -> bool:
    """Return whether a file imports the overlay vocabulary, that is, means to be merged."""
    if _TOOL.encode() not in content:
        return False
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return MARKERS_MODULE.encode() in content
    return any(name.partition(".")[0] == _TOOL for node in ast.walk(tree) for name in _modules(node))


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [node.module or ""]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def read_import(reader: Reader, node: ast.Import | ast.ImportFrom) -> None:
    """Note what an import brings in: markers, or names for the definitions below it."""
    module = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    if module == MARKERS_MODULE and all(alias.name != "*" for alias in node.names):
        reader.markers.update({bound_name(node, alias): alias.name for alias in node.names})
        for alias in node.names:
            if alias.name not in MARKERS:
                fix = nearest_marker(alias.name) or f"it has {', '.join(MARKERS)}"
                reader.problem(node, f"{MARKERS_MODULE} has no `{alias.name}`", fix)
        return
    if module == "__future__":
        fix = "take it out: what upstream's module has of it holds for the overlay's text too"
        reader.problem(node, "a __future__ import would change all of the upstream module", fix)
        return
    if module.startswith(".") and not reader.target:
        reader.problem(node, "a relative import means something else in every target", "write the absolute import")
    for alias in node.names:
        if alias.name == "*" or _TOOL in (module.partition(".")[0], alias.name.partition(".")[0] if not module else ""):
            reader.problem(node, f"cannot merge this import of `{alias.name}`", f"from {MARKERS_MODULE} import NAME, …")
            continue
        as_name = f" as {alias.asname}" if alias.asname else ""
        statement = f"from {module} import {alias.name}{as_name}" if module else f"import {alias.name}{as_name}"
        reader.imports.append(ImportedName(name=bound_name(node, alias), statement=statement, line=node.lineno))


def nearest_marker(name: str) -> str:
    """Return the marker a name was probably meant as, as a fix; empty where none is near."""
    close = difflib.get_close_matches(name.lower(), MARKERS, n=1, cutoff=0.6)
    return f"nearest: `{close[0]}`" if close else ""
