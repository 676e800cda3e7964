"""Amendments: an operation as it is written, and as it is wanted → the splices that change its statement.

Arguments that stay the same keep their text, with the comments in it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from npu_overlays.authoring.writer.marker_imports import Markers
from npu_overlays.authoring.writer.statements import edit_text, literal, statement, uses, where
from npu_overlays.model.code_blocks import reindent, renamed
from npu_overlays.model.definitions import first_line
from npu_overlays.model.module import Module
from npu_overlays.model.splices import Splice
from npu_overlays.model.tokens import tokens
from npu_overlays.overlay.operations import Edit, Operation

_STEP = "    "


def amended(text: Module, node: ast.stmt, known: Operation, wanted: Operation) -> list[Splice]:
    """Return what makes a statement of a merge module say what is wanted, and not what is known."""
    found: list[Splice] = []
    for part in _parts(text, node, known, wanted):
        if part is None:
            start, end = text.offset(first_line(node)), text.line_end(node.end_lineno or node.lineno)
            return [Splice(start=start, end=end, text=_anew(text, node, known, wanted), where=known.where)]
        found += part
    return found


def _parts(text: Module, node: ast.stmt, known: Operation, wanted: Operation) -> Iterator[list[Splice] | None]:
    """Yield the changes in each part of a statement; None if it must be rewritten."""
    alike = replace(known, text=wanted.text, edits=wanted.edits, imports=wanted.imports, where=wanted.where)
    if alike != wanted or len(known.edits) != len(wanted.edits) or wanted.action == "deleted":
        yield None
        return
    mark = Markers(text.tree).mark(node)
    yield _edits(text, mark, known, wanted)
    yield _uses(text, mark, known, wanted)
    yield _text(text, node, mark, known, wanted)


def _edits(text: Module, mark: ast.Call, known: Operation, wanted: Operation) -> list[Splice] | None:
    found: list[Splice] = []
    for node, before, after in zip(mark.args, known.edits, wanted.edits, strict=False):
        if before != after:
            if not isinstance(node, ast.Tuple):
                return None
            found += _edit(text, node, before, after)
    return found


def _edit(text: Module, node: ast.Tuple, before: Edit, after: Edit) -> Iterator[Splice]:
    if before.count != after.count:
        yield _exchange(text, node, edit_text(after))
        return
    for part, old, new in zip(node.elts, (before.find, before.replace), (after.find, after.replace), strict=False):
        if old != new:
            yield _exchange(text, part, literal(new))


def _uses(text: Module, mark: ast.Call, known: Operation, wanted: Operation) -> list[Splice] | None:
    if uses(known) == uses(wanted):
        return []
    value = next((one.value for one in mark.keywords if one.arg == "uses"), None)
    listed = uses(wanted)
    return [_exchange(text, value, f"[{', '.join(listed)}]")] if value and listed else None


def _text(text: Module, node: ast.stmt, mark: ast.Call, known: Operation, wanted: Operation) -> list[Splice] | None:
    if known.text == wanted.text:
        return []
    if known.kind == "attribute":
        return [_exchange(text, mark.args[0], wanted.text)] if mark.args else None
    if first_line(node) != mark.lineno:  # another decorator is above the marker, and in the text
        return None
    start, end = text.line_end(mark.end_lineno or mark.lineno), text.line_end(node.end_lineno or node.lineno)
    return [Splice(start=start, end=end, text=reindent(wanted.text, old="", new=text.indentation(node)), where="")]


def _exchange(text: Module, node: ast.expr, new: str) -> Splice:
    start, end = text.span(node)
    margin = text.line_indentation(node.lineno)
    return Splice(start=start, end=end, text=reindent(new, old="", new=margin).removeprefix(margin), where="")


def _anew(text: Module, node: ast.stmt, known: Operation, wanted: Operation) -> str:
    """Return the statement of an operation that becomes another, with the arguments that are written already."""
    stub = _stub(text, node, known, wanted) if known.action == wanted.action == "edited" else ""
    markers = Markers(text.tree)
    mark = markers.mark(node)
    last = node.lineno - 1 if stub else node.end_lineno if known.action == "edited" else mark.end_lineno
    behind = text.line_end(last or node.lineno)
    beside = comments(text, mark, known, wanted, behind=behind)
    marker = markers.name(wanted.action)
    arguments = {one.arg: _dedented(text.text(one.value)) for one in mark.keywords if one.arg not in (None, "where")}
    # Of a decorator that said it beside the marker, an edit leaves nothing.
    arguments |= {"where": leading} if (leading := where(wanted)) else {}
    new = statement(wanted, arguments, beside, marker=marker, shared=known.shared, stub=stub)
    return reindent(new, old="", new=text.indentation(node))


def _stub(text: Module, node: ast.stmt, known: Operation, wanted: Operation) -> str:
    """Return what an edit's marker stands on, as it is written but for its name; empty for a value."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return ""
    own = text.lines(node.lineno, node.end_lineno or node.lineno)
    stub = reindent(own, old=text.indentation(node), new="").rstrip("\n") + "\n"
    return renamed(stub, known.shared or wanted.leaf)


def _dedented(value: str) -> str:
    """Return a value of several lines in parentheses, so that it can stand anywhere."""
    if "\n" not in value or value.startswith(("(", "[", "{")):
        return re.sub(r"\n[ \t]+", f"\n{_STEP}", value) if not re.search("\"{3}|'{3}", value) else value
    return f"(\n{_STEP}" + re.sub(r"\n[ \t]+", f"\n{_STEP}", value) + "\n)"


_Argument: TypeAlias = ast.expr | ast.keyword


def comments(text: Module, mark: ast.Call, known: Operation, wanted: Operation, *, behind: int) -> dict[str, list[str]]:
    """Return the comments that are lost if an operation is rewritten.

    Args:
        text: the merge module.
        mark: the operation's marker.
        known: what it says.
        wanted: what it is to say.
        behind: the byte after the rewritten text.

    Returns:
        Those beside each argument, by its name, or by its text where it has none; by an empty text those beside none.
    """
    texts: dict[_Argument, str] = {one: one.arg or "" for one in mark.keywords}
    texts |= dict.fromkeys(mark.args, wanted.text)
    edits: dict[_Argument, str] = dict(zip(mark.args, map(edit_text, known.edits), strict=False))
    texts |= edits
    found: defaultdict[str, list[str]] = defaultdict(list)
    for argument, lines in _beside(text, mark, behind):
        if lines:
            found[texts[argument] if argument else ""] += lines
    for argument in (*edits, *(one for one in mark.keywords if one.arg == "uses")):
        found[texts[argument]] += _comments(text.text(argument))
    return found


def _beside(text: Module, mark: ast.Call, behind: int) -> Iterator[tuple[_Argument | None, list[str]]]:
    """Yield the comments above each argument, and right behind it; for None those that stand beside none."""
    arguments: list[_Argument] = sorted((*mark.args, *mark.keywords), key=text.span)
    end = text.span(mark)[1]
    places = [*((*text.span(one), one) for one in arguments), (end, end, None), (behind, behind, None)]
    at, before = text.offset(mark.lineno), None
    for start, next_at, argument in places:
        first, _, rest = text.content[at:start].decode().partition("\n")
        yield before, _comments(first)
        yield argument, _comments(rest)
        at, before = next_at, argument


def _comments(source: str) -> list[str]:
    return [one.text for one in tokens(source) if one.kind == "comment"]
