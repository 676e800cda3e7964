"""Marks: statements of an overlay file → each marker with its definition, or the problem of a statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from npu_overlays.errors import Problem
from npu_overlays.model.code_blocks import definition_text, value_text
from npu_overlays.model.definitions import FunctionNode
from npu_overlays.model.selectors import accessor, selecting_decorators, with_selector
from npu_overlays.overlay.operations import EVERYTHING, Action, TargetKind
from npu_overlays.overlay.parser.misuse import imported_wrongly, spelling_mistake
from npu_overlays.overlay.parser.parsed_file import ParsedFile, import_problems


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A marker, and its definition."""

    action: Action  # what it asks for
    call: ast.Call  # the marker
    node: ast.stmt  # the statement it marks
    symbol: str  # qualified name of what is marked, with what says which definition of it is meant
    kind: TargetKind  # of the symbol
    text: str = ""  # the definition or the value; empty where upstream's is edited or deleted
    annotation: str = ""  # of a value


def read_marks(parsed: ParsedFile) -> Iterator[Mark | Problem]:
    """Yield every mark and every mistake of a file, in the order of the text."""
    for statement in parsed.module.tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield from import_problems(parsed, statement)
        elif not _is_support(statement, parsed.module.tree.body):
            yield from _read_statement(parsed, statement, parent="")


def _read_statement(parsed: ParsedFile, node: ast.stmt, *, parent: str) -> Iterator[Mark | Problem]:
    value = getattr(node, "value", None)
    if _is_ignored(node):
        return
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield from _read_definition(parsed, node, f"{parent}.{node.name}" if parent else node.name)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and (call := parsed.marker_call(value)):
        yield _read_assignment(parsed, node, call, parent)
    elif isinstance(node, ast.Expr) and (call := parsed.marker_call(value)):
        yield _read_deletion(parsed, node, call, parent)
    elif found := spelling_mistake(parsed, value):
        yield parsed.problem(node, *found)
    elif any(parsed.marker_call(one) for inner in ast.walk(node) for one in getattr(inner, "decorator_list", ())):
        what = "a marked definition stands in a block, whose condition nothing would check"
        fix = "write it outside; if upstream has several of the name, where=… says which one it changes"
        yield parsed.problem(node, what, fix)
    else:
        what = "a merge module holds only imports, classes and marked definitions"
        yield parsed.problem(node, what, "mark it with added(…, why=…) or another marker, or leave it out")


def _is_ignored(node: ast.stmt) -> bool:
    """Docstrings, ``pass`` and ``if TYPE_CHECKING:`` blocks are for readers and linters."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" and not node.orelse
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, (str, type(...)))
    )


def _is_support(node: ast.stmt, body: list[ast.stmt]) -> bool:
    """Return whether it only supports ``@value.setter`` in the overlay: ``value = property()``, or another call."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or node.value.args:
        return False
    names = {f"@{target.id}" for target in node.targets if isinstance(target, ast.Name)}
    owners = {accessor(one).rpartition(".")[0] for one in body}
    return not names.isdisjoint(owners) or ast.unparse(node.value) == "property()"


def _read_definition(parsed: ParsedFile, node: FunctionNode | ast.ClassDef, name: str) -> Iterator[Mark | Problem]:
    calls = [call for decorator in node.decorator_list if (call := parsed.marker_call(decorator))]
    if not calls:
        yield from _read_unmarked(parsed, node, name)
    elif len(calls) > 1:
        yield parsed.problem(node, f"`{name}` is marked {len(calls)} times", "keep one of the markers")
    elif isinstance(node, ast.ClassDef) and parsed.action(calls[0]) == "wrapped":
        fix = "wrap its methods, or replace the class"
        yield parsed.problem(node, f"`{name}` is a class and cannot be wrapped", fix)
    else:
        yield from _definition_problems(parsed, node, calls[0], name)
        action = parsed.action(calls[0])
        kind: TargetKind = "class" if isinstance(node, ast.ClassDef) else "function"
        text = definition_text(parsed.module, node, calls[0]) if action != "edited" else ""
        symbol = with_selector(name, dict.fromkeys([*selecting(calls[0]), *selecting_decorators(node, calls[0])]))
        yield Mark(action=action, call=calls[0], node=node, symbol=symbol, kind=kind, text=text)


def selecting(call: ast.Call) -> list[str]:
    """Return the texts of a marker's ``where``."""
    value = next((one.value for one in call.keywords if one.arg == "where"), None)
    listed = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
    return [one.value for one in listed if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def _read_unmarked(parsed: ParsedFile, node: FunctionNode | ast.ClassDef, name: str) -> Iterator[Mark | Problem]:
    """Yield the marks in a class without a marker, or why such a class is wrong."""
    if imported_wrongly(parsed, node.decorator_list):
        return
    for decorator in node.decorator_list:
        if found := spelling_mistake(parsed, decorator):
            yield parsed.problem(node, f"`{name}`: {found[0]}", found[1])
            return
    if not isinstance(node, ast.ClassDef):
        yield parsed.problem(node, f"`{name}` has no marker", "decorate it with @added(why=…), @wrapped(why=…), …")
        return
    if node.decorator_list or node.keywords or node.bases:
        what = f"class `{name}` only says where its operations belong; its bases and decorators would be lost"
        yield parsed.problem(node, what, "write `class NAME:`, or mark the class with @added or @replaced")
    for statement in node.body:
        if not _is_support(statement, node.body):
            yield from _read_statement(parsed, statement, parent=name)


def _definition_problems(
    parsed: ParsedFile, node: FunctionNode | ast.ClassDef, call: ast.Call, name: str
) -> Iterator[Problem]:
    action = parsed.action(call)
    if action == "edited" and not all(map(_is_ignored, node.body)):
        yield parsed.problem(node, f"the body of the edited `{name}` is not used", "write `...` as its body")
    for inner in ast.walk(node):
        decorators = getattr(inner, "decorator_list", []) if inner is not node else []
        if any(map(parsed.marker_call, decorators)):
            what = f"`{name}` is {action} as a whole; the marker inside it would reach the wheel"
            yield parsed.problem(inner, what, "take the inner marker out, or mark only the parts")


def _read_assignment(
    parsed: ParsedFile, node: ast.Assign | ast.AnnAssign, call: ast.Call, parent: str
) -> Mark | Problem:
    action = parsed.action(call)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return parsed.problem(
            node, "an operation on a value needs one plain name on its left", "write NAME = marker(…)"
        )
    if action not in ("added", "replaced", "edited"):
        return parsed.problem(node, f"{action}() cannot be assigned", "use added, replaced or edited on a value")
    if action != "edited" and (len(call.args) != 1 or isinstance(call.args[0], ast.Starred)):
        what = f"{action}() on a value takes the value and keywords"
        return parsed.problem(node, what, f"write NAME = {action}(value, why=…)")
    return Mark(
        action=action,
        call=call,
        node=node,
        symbol=with_selector(f"{parent}.{targets[0].id}" if parent else targets[0].id, selecting(call)),
        kind="attribute",
        text=value_text(parsed.module, call.args[0]) if action != "edited" else "",
        annotation=parsed.module.text(node.annotation) if isinstance(node, ast.AnnAssign) else "",
    )


def _read_deletion(parsed: ParsedFile, node: ast.Expr, call: ast.Call, parent: str) -> Mark | Problem:
    values = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    names = [value for value in values if isinstance(value, str)]
    if parsed.action(call) != "deleted" or len(call.args) != 1 or not names:
        fix = 'write deleted("name", why=…), or put the marker on a definition'
        return parsed.problem(node, "this call of a marker is no operation", fix)
    if names[0] == EVERYTHING and (parent or not parsed.target):
        what = f'deleted("{EVERYTHING}") empties a module: it can only stand in the merge module of that one'
        return parsed.problem(node, what, "name what is to be deleted")
    name = f"{parent}.{names[0]}" if parent else names[0]
    return Mark(action="deleted", call=call, node=node, symbol=with_selector(name, selecting(call)), kind="attribute")
