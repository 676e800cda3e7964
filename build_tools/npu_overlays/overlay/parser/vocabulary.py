"""Vocabulary: the markers, and whether a file means to use them."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Iterator

from npu_overlays.errors import nearest, suggestion
from npu_overlays.overlay.operations import ACTIONS

MARKERS_MODULE = "npu_overlays.markers"
TOOL = "npu_overlays"
# The call that replaces a list of targets.
LIKE = "like"
MARKERS = (*ACTIONS, "upstream", LIKE)
# No import and no call of a marker, misspelt or not, is without one of these.
_HINT = re.compile(rb"overlay|marker|\bwhy\s*=", re.IGNORECASE)
_IMPORT = re.compile(r"^\s*(?:from|import)\s+([\w.-]+)(?:\s+import\s+(.*))?", re.MULTILINE)
_NEAR = 0.85


def imports_tool(content: bytes) -> bool:
    """Return whether a module imports the overlay tool."""
    if TOOL.encode() not in content:
        return False
    try:
        imported = [*_imported(ast.parse(content))]
    except (SyntaxError, ValueError):
        return MARKERS_MODULE.encode() in content
    return any(module.partition(".")[0] == TOOL for module, _ in imported)


def uses_markers(content: bytes) -> bool:
    """Return whether a file means to be merged: it imports the markers, or something similar, or calls one."""
    if not _HINT.search(content):
        return False
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return any(means_markers(*one) for one in _imports_in(content.decode(errors="replace")))
    return any(means_markers(*one) for one in _imported(tree)) or any(map(_is_mark, _statements(tree.body)))


def means_markers(module: str, names: Iterable[str] = ()) -> bool:
    """Return whether an import is of the markers, or was probably meant so.

    Args:
        module: the module that is imported, or imported from, with its dots.
        names: the names imported from it.
    """
    root, *inner = module.split(".")
    listed = [*names]
    if root and _letters(root) == _letters(TOOL):
        return True
    if module.rpartition(".")[2] == "markers" and listed and set(listed) <= {*MARKERS}:
        return True
    looks_like = any(_likeness(module, known) >= _NEAR for known in (TOOL, MARKERS_MODULE))
    return bool(root and looks_like) and any(nearest_marker(name, "markers") for name in (*inner, *listed))


def import_of_markers(names: Iterable[str] = ()) -> str:
    """Return how the markers are imported, as a fix."""
    return f"write `from {MARKERS_MODULE} import {', '.join(names) or 'NAME, …'}`"


def meant_import(content: bytes) -> str:
    """Return how to import the markers in a file whose import of them is a syntax error, or an empty text."""
    for module, names in _imports_in(content.decode(errors="replace")):
        if "-" in module:
            return import_of_markers(name for name in names if name in MARKERS)
    return ""


def nearest_marker(name: str, *others: str) -> str:
    """Return the marker a name was probably meant as, as a fix, or an empty text."""
    return suggestion(nearest(name.lower(), (*MARKERS, *others)), "")


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _likeness(name: str, known: str) -> float:
    return difflib.SequenceMatcher(None, _letters(name), _letters(known)).ratio()


def _imports_in(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the imports in a text that may not be valid Python."""
    for module, names in _IMPORT.findall(text):
        yield module, re.findall(r"\w+", names)


def _imported(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """Yield each module that a module imports, with its dots, and the names that it imports from it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, []


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module and of its classes."""
    for node in body:
        yield node
        if isinstance(node, ast.ClassDef):
            yield from _statements(node.body)


def _is_mark(node: ast.stmt) -> bool:
    """Return whether a statement has a decorator named like a marker, with a reason."""
    for call in (*getattr(node, "decorator_list", ()), getattr(node, "value", None)):
        if isinstance(call, ast.Call) and "why" in [keyword.arg for keyword in call.keywords]:
            name = ast.unparse(call.func).rpartition(".")[2]
            return bool(nearest(name, ACTIONS, _NEAR))
    return False
