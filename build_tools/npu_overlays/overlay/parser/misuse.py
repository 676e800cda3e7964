"""Misuse: expressions of an overlay file → what is wrong with the markers they are meant as."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from npu_overlays.errors import Problem
from npu_overlays.model.texts import names_in
from npu_overlays.overlay.operations import Edit
from npu_overlays.overlay.parser.parsed_file import ParsedFile
from npu_overlays.overlay.parser.vocabulary import MARKERS, MARKERS_MODULE, nearest_marker


def imported_wrongly(parsed: ParsedFile, nodes: Iterable[ast.expr]) -> bool:
    """Return whether one of them is a name imported from the markers that is none, which its import reports."""
    wrong = {name for name, marker in parsed.markers.items() if marker not in MARKERS}
    return any(_name(node) in wrong for node in nodes)


def spelling_mistake(parsed: ParsedFile, node: ast.expr | None) -> tuple[str, str] | None:
    """Return (what is wrong, what to do) for an expression that was meant as a marker; None where it was not."""
    name = _name(node)
    if name in parsed.markers:
        bare = not isinstance(node, ast.Call)
        return (f"the marker `{name}` gives no reason", f"write {name}(…, why=…)") if bare else None
    if name in MARKERS:
        return f"the marker `{name}` is not imported", f"from {MARKERS_MODULE} import {name}"
    return (f"`{name}` is no marker", nearest_marker(name)) if name and nearest_marker(name) else None


def _name(node: ast.expr | None) -> str:
    named = node.func if isinstance(node, ast.Call) else node
    return named.attr if isinstance(named, ast.Attribute) else named.id if isinstance(named, ast.Name) else ""


def misplaced(parsed: ParsedFile, node: ast.stmt, call: ast.Call, edits: Iterable[Edit]) -> Iterator[Problem]:
    """Yield each marker used inside what is merged as it is written.

    Args:
        parsed: the file.
        node: the marked definition or assignment.
        call: its marker.
        edits: the substitutions that lists.
    """
    inside = [one for one in ast.walk(node) if isinstance(one, (ast.Name, ast.arg))]
    own = {one.arg if isinstance(one, ast.arg) else one.id for one in inside if not isinstance(_context(one), ast.Load)}
    own |= {name for one in ast.walk(node) if one is not node for name in _defined(one)}
    # What is marked inside is reported as a whole.
    marked = [one for one in ast.walk(node) if one is not node and any(map(parsed.marker_call, _decorators(one)))]
    passed = {call.func} | {name for one in marked for name in ast.walk(one)}
    for name in inside:
        if isinstance(name, ast.Name) and name.id not in own and name not in passed:
            yield from _marker_inside(parsed, name, name.id, call)
    # What an edit finds is upstream's, also where it bears a marker's name.
    own |= {word for edit in edits for word in names_in(edit.find)}
    for word in sorted({word for edit in edits for word in names_in(edit.replace)} - own):
        yield from _marker_inside(parsed, node, word, call)


def _defined(node: ast.AST) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    return [node.asname or node.name.partition(".")[0]] if isinstance(node, ast.alias) else []


def _decorators(node: ast.AST) -> list[ast.expr]:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return decorators


def _context(node: ast.Name | ast.arg) -> ast.expr_context | None:
    return node.ctx if isinstance(node, ast.Name) else None


def _marker_inside(parsed: ParsedFile, node: ast.AST, name: str, call: ast.Call) -> Iterator[Problem]:
    marker, action = parsed.markers.get(name), parsed.action(call)
    if marker == "upstream" and action != "wrapped":
        what = f"`{name}(…)` calls the original of a @wrapped; what is {action} has none"
        yield parsed.problem(node, what, "use @wrapped, or write upstream's code out")
    elif marker and marker != "upstream":
        other = f"from {MARKERS_MODULE} import {marker} as npu_{marker}"
        fix = f"take it out; where upstream's own `{name}` is meant, write `{other}` above"
        yield parsed.problem(node, f"the marker `{name}` means nothing inside a definition", fix)
