"""Misuse: expressions of an overlay file → what is wrong with the markers they are meant as."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from npu_overlays.overlay.marks import MARKERS, MARKERS_MODULE, Reader, nearest_marker
from npu_overlays.overlay.operations import Action, Edit
from npu_overlays.syntax.texts import names_in

# Where, what is wrong, what to do.
Misuse: TypeAlias = tuple[ast.AST, str, str]


def imported_wrongly(reader: Reader, nodes: Iterable[ast.expr]) -> bool:
    """Return whether one of them is a name imported from the markers that is none, which its import reports."""
    wrong = {name for name, marker in reader.markers.items() if marker not in MARKERS}
    return any(_name(node) in wrong for node in nodes)


def misspelt(reader: Reader, *nodes: ast.expr | None) -> tuple[str, str] | None:
    """Return (what is wrong, what to do) for the first expression that was meant as a marker; None where none was."""
    return next(filter(None, (_spelling_mistake(reader, node) for node in nodes)), None)


def _spelling_mistake(reader: Reader, node: ast.expr | None) -> tuple[str, str] | None:
    name = _name(node)
    if name in reader.markers:
        return (
            None if isinstance(node, ast.Call) else (f"the marker `{name}` gives no reason", f"write {name}(…, why=…)")
        )
    if name in MARKERS:
        return f"the marker `{name}` is not imported", f"from {MARKERS_MODULE} import {name}"
    return (f"`{name}` is no marker", nearest_marker(name)) if name and nearest_marker(name) else None


def _name(node: ast.expr | None) -> str:
    named = node.func if isinstance(node, ast.Call) else node
    return named.attr if isinstance(named, ast.Attribute) else named.id if isinstance(named, ast.Name) else ""


def misplaced(reader: Reader, node: ast.stmt, mark: ast.Call, edits: Iterable[Edit]) -> Iterator[Misuse]:
    """Yield each marker used inside what is merged as it is written.

    Args:
        reader: knows the markers.
        node: the marked definition or assignment.
        mark: its marker.
        edits: the substitutions that lists.
    """
    action = reader.action(mark)
    inside = [one for one in ast.walk(node) if isinstance(one, (ast.Name, ast.arg))]
    own = {one.arg if isinstance(one, ast.arg) else one.id for one in inside if not isinstance(_context(one), ast.Load)}
    own |= {name for one in ast.walk(node) if one is not node for name in _defined(one)}
    # What is marked inside is reported as a whole.
    marked = [one for one in ast.walk(node) if one is not node and any(map(reader.marked, _decorators(one)))]
    passed = {mark.func} | {name for one in marked for name in ast.walk(one)}
    for name in inside:
        if isinstance(name, ast.Name) and name.id not in own and name not in passed:
            yield from ((name, *found) for found in _marker_inside(reader, name.id, action))
    # What an edit finds is upstream's, also where it bears a marker's name.
    own |= {word for edit in edits for word in names_in(edit.find)}
    for word in sorted({word for edit in edits for word in names_in(edit.replace)} - own):
        yield from ((node, *found) for found in _marker_inside(reader, word, action))


def _defined(node: ast.AST) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    return [node.asname or node.name.partition(".")[0]] if isinstance(node, ast.alias) else []


def _decorators(node: ast.AST) -> list[ast.expr]:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return decorators


def _context(node: ast.Name | ast.arg) -> ast.expr_context | None:
    return node.ctx if isinstance(node, ast.Name) else None


def _marker_inside(reader: Reader, name: str, action: Action) -> Iterator[tuple[str, str]]:
    marker = reader.markers.get(name)
    if marker == "upstream" and action != "wrapped":
        what = f"`{name}(…)` calls the original of a @wrapped; what is {action} has none"
        yield what, "use @wrapped, or write upstream's code out"
    elif marker and marker != "upstream":
        other = f"from {MARKERS_MODULE} import {marker} as npu_{marker}"
        fix = f"take it out; where upstream's own `{name}` is meant, write `{other}` above"
        yield f"the marker `{name}` means nothing inside a definition", fix
