"""Vocabulary: the markers there are, and whether a file means to use them."""

from __future__ import annotations

import ast
import difflib

from npu_overlays.overlay.operations import ACTIONS

MARKERS_MODULE = "npu_overlays.markers"
TOOL = "npu_overlays"
MARKERS = (*ACTIONS, "upstream")


def uses_markers(content: bytes) -> bool:
    """Return whether a file imports the overlay vocabulary, that is, means to be merged."""
    if TOOL.encode() not in content:
        return False
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return MARKERS_MODULE.encode() in content
    return any(name.partition(".")[0] == TOOL for node in ast.walk(tree) for name in _modules(node))


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [node.module or ""]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def nearest_marker(name: str) -> str:
    """Return the marker a name was probably meant as, as a fix; empty where none is near."""
    close = difflib.get_close_matches(name.lower(), MARKERS, n=1, cutoff=0.6)
    return f"nearest: `{close[0]}`" if close else ""
