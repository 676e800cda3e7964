"""Misuse: expressions of an overlay file → misused or misspelt markers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from npu_overlays.errors import Problem
from npu_overlays.model.code_blocks import names_in
from npu_overlays.overlay.operations import Edit
from npu_overlays.overlay.parser.parsed_file import ParsedFile
from npu_overlays.overlay.parser.vocabulary import MARKERS, MARKERS_MODULE, nearest_marker


def imported_wrongly(parsed: ParsedFile, nodes: Iterable[ast.expr]) -> bool:
    """Return whether one of them is an unknown name imported from the markers; its import is reported."""
    wrong = {name for name, marker in parsed.markers.items() if marker not in MARKERS}
    return any(_name(node) in wrong for node in nodes)


def spelling_mistake(parsed: ParsedFile, node: ast.expr | None) -> tuple[str, str] | None:
    """Return (what is wrong, what to do) for an expression that was meant as a marker; None for any other."""
    name = _name(node)
    if name in parsed.markers:
        bare = not isinstance(node, ast.Call)
        return (f"the marker `{name}` gives no reason", f"write {name}(…, why=…)") if bare else None
    if name in MARKERS:
        return f"the marker `{name}` is not imported", f"write `from {MARKERS_MODULE} import {name}` above"
    return (f"`{name}` is no marker", nearest_marker(name)) if name and nearest_marker(name) else None


def _name(node: ast.expr | None) -> str:
    named = node.func if isinstance(node, ast.Call) else node
    return named.attr if isinstance(named, ast.Attribute) else named.id if isinstance(named, ast.Name) else ""


def misplaced(parsed: ParsedFile, node: ast.stmt, call: ast.Call, edits: Iterable[Edit]) -> Iterator[Problem]:
    """Yield each marker used inside text that is merged unchanged.

    Args:
        parsed: the file.
        node: the marked definition or assignment.
        call: its marker.
        edits: its substitutions.
    """
    passed: set[ast.AST] = {call.func}
    for one in ast.walk(node):
        # A marked definition inside a marked one is reported as a whole.
        if one is not node and any(map(parsed.marker_call, getattr(one, "decorator_list", ()))):
            passed.update(ast.walk(one))
    bound = _bound_names(node)
    for keyword in call.keywords:
        if keyword.arg == "targets":
            passed.update(call.func for call in parsed.like_calls(keyword.value))
    for name in ast.walk(node):
        if isinstance(name, ast.Name) and name.id not in bound and name not in passed:
            yield from _marker_inside(parsed, name, name.id, call)
    words: set[str] = set()
    for edit in edits:
        words |= set(names_in(edit.replace))
        # What an edit finds is upstream's, also where it bears a marker's name.
        bound |= set(names_in(edit.find))
    for word in sorted(words - bound):
        yield from _marker_inside(parsed, node, word, call)


def _bound_names(node: ast.stmt) -> set[str]:
    """Return the names that a statement or its parts bind."""
    bound: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.arg):
            bound.add(one.arg)
        elif isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            bound.add(one.id)
        elif isinstance(one, ast.alias):
            bound.add(one.asname or one.name.partition(".")[0])
        elif isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and one is not node:
            bound.add(one.name)
    return bound


def _marker_inside(parsed: ParsedFile, node: ast.AST, name: str, call: ast.Call) -> Iterator[Problem]:
    marker, action = parsed.markers.get(name), parsed.action(call)
    if marker == "upstream" and action != "wrapped":
        what = f"`{name}(…)` calls the original, which only a @wrapped function has; this one is {action}"
        yield parsed.problem(node, what, "use @wrapped, or write upstream's code out")
    elif marker and marker != "upstream":
        other = f"from {MARKERS_MODULE} import {marker} as npu_{marker}"
        fix = f"take it out; or, where you mean upstream's own `{name}`, write `{other}` above"
        yield parsed.problem(node, f"the marker `{name}` means nothing inside a definition", fix)
