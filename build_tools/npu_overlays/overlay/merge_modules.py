"""Merge modules: text of an overlay file → the operations it asks for.

Every mistake of a file is collected and raised at once.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from npu_overlays.errors import MergeError
from npu_overlays.overlay.emitting import emit
from npu_overlays.overlay.marks import Reader, read_import
from npu_overlays.overlay.misuse import imported_wrongly, misspelt
from npu_overlays.overlay.operations import EVERYTHING, Operation, TargetKind
from npu_overlays.overlay.shared_names import followed
from npu_overlays.syntax.definitions import FunctionNode
from npu_overlays.syntax.symbols import Module
from npu_overlays.syntax.texts import definition_text, value_text


def read_operations(file: str, content: bytes, *, layer: str, target: str = "") -> tuple[Operation, ...]:
    """Return the operations of a merge module, in the order in which they are written.

    Args:
        file: name of the file, for messages.
        content: its bytes.
        layer: name of the layer it belongs to, or of the pin.
        target: repository path its operations apply to; empty for a file of
            ``shared/``, whose operations name their targets themselves.

    Raises:
        MergeError: with every mistake of the file.
    """
    reader = Reader(file=file, layer=layer, module=Module(file, content), target=target)
    for statement in reader.module.tree.body:
        _read_statement(reader, statement, parent="")
    if not target:
        reader.operations = list(followed(reader))
    _check_imports_are_used(reader)
    if not reader.operations and not reader.problems:
        reader.problem(reader.module.tree, "holds no operation", "mark what changes, or delete the file")
    if reader.problems:
        raise MergeError(reader.problems)
    return tuple(anchored(reader.operations))


def _read_statement(reader: Reader, node: ast.stmt, *, parent: str) -> None:
    if isinstance(node, (ast.Import, ast.ImportFrom)) and not parent:
        read_import(reader, node)
    elif _is_ignored(node):
        return
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        _read_definition(reader, node, parent)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and (call := reader.marked(node.value)):
        _read_assignment(reader, node, call, parent)
    elif isinstance(node, ast.Expr) and (call := reader.marked(node.value)):
        _read_deletion(reader, node, call, parent)
    elif found := misspelt(reader, getattr(node, "value", None)):
        reader.problem(node, *found)
    else:
        reader.problem(
            node,
            "a merge module holds only imports, classes and marked definitions",
            "mark it with added(…, why=…) or another marker, or leave it out",
        )


def _is_ignored(node: ast.stmt) -> bool:
    """Docstrings, ``pass`` and ``if TYPE_CHECKING:`` blocks are for the people and linters who read the file."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" and not node.orelse
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, (str, type(...)))
    )


def _read_definition(reader: Reader, node: FunctionNode | ast.ClassDef, parent: str) -> None:
    calls = [call for decorator in node.decorator_list if (call := reader.marked(decorator))]
    name = f"{parent}.{node.name}" if parent else node.name
    if not calls and imported_wrongly(reader, node.decorator_list):
        return
    if not calls and (found := misspelt(reader, *node.decorator_list)):
        reader.problem(node, f"`{name}` has no marker: {found[0]}", found[1])
    elif not calls:
        _read_container(reader, node, name)
    elif len(calls) > 1:
        reader.problem(node, f"`{name}` is marked {len(calls)} times", "one operation for one symbol")
    elif isinstance(node, ast.ClassDef) and reader.action(calls[0]) == "wrapped":
        reader.problem(node, f"`{name}` is a class and cannot be wrapped", "wrap its methods, or replace the class")
    else:
        _check_definition(reader, node, calls[0], name)
        kind: TargetKind = "class" if isinstance(node, ast.ClassDef) else "function"
        text = definition_text(reader.module, node, calls[0])
        emit(reader, calls[0], node, symbol=name, kind=kind, text=text)


def _check_definition(reader: Reader, node: FunctionNode | ast.ClassDef, call: ast.Call, name: str) -> None:
    action = reader.action(call)
    kept = [decorator for decorator in node.decorator_list if decorator is not call]
    if action == "wrapped" and kept:
        what = f"upstream's decorators stay on the wrapped `{name}`; further ones are not merged"
        reader.problem(kept[0], what, "take the decorator out, or use @replaced")
    if action == "edited" and not all(map(_is_ignored, node.body)):
        reader.problem(node, f"the body of the edited `{name}` is not used", "write `...` as its body")
    for inner in ast.walk(node):
        marked = getattr(inner, "decorator_list", []) if inner is not node else []
        if any(reader.marked(decorator) for decorator in marked):
            what = f"`{name}` is {action} as a whole; the marker inside it would reach the wheel"
            reader.problem(inner, what, "take the inner marker out, or mark only the parts")


def _read_container(reader: Reader, node: ast.stmt, name: str) -> None:
    if not isinstance(node, ast.ClassDef):
        reader.problem(node, f"`{name}` has no marker", "decorate it with @added(why=…), @wrapped(why=…), …")
        return
    if node.decorator_list or node.keywords or node.bases:
        reader.problem(
            node,
            f"class `{name}` only says where its operations belong; its bases and decorators would be lost",
            "write `class NAME:`, or mark the class with @added or @replaced",
        )
    for statement in node.body:
        _read_statement(reader, statement, parent=name)


def _read_assignment(reader: Reader, node: ast.Assign | ast.AnnAssign, call: ast.Call, parent: str) -> None:
    action = reader.action(call)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        reader.problem(node, "an operation on a value needs one plain name on its left", "NAME = marker(…)")
    elif action not in ("added", "replaced", "edited"):
        reader.problem(node, f"{action}() cannot be assigned", "use added, replaced or edited on a value")
    elif action != "edited" and (len(call.args) != 1 or isinstance(call.args[0], ast.Starred)):
        reader.problem(node, f"{action}() on a value takes the value and keywords", f"NAME = {action}(value, why=…)")
    else:
        name = f"{parent}.{targets[0].id}" if parent else targets[0].id
        value = "" if action == "edited" else value_text(reader.module, call.args[0])
        annotation = reader.module.text(node.annotation) if isinstance(node, ast.AnnAssign) else ""
        emit(reader, call, node, symbol=name, kind="attribute", text=value, annotation=annotation)


def _read_deletion(reader: Reader, node: ast.Expr, call: ast.Call, parent: str) -> None:
    values = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    names = [value for value in values if isinstance(value, str)]
    if reader.action(call) != "deleted" or len(call.args) != 1 or not names:
        reader.problem(node, "not an operation", 'deleted("name", why=…), or a marker on a definition')
        return
    if names[0] == EVERYTHING and (parent or not reader.target):
        what = f'deleted("{EVERYTHING}") empties a module, and stands in the merge module of that one'
        reader.problem(node, what, "name what is to go")
        return
    name = f"{parent}.{names[0]}" if parent else names[0]
    emit(reader, call, node, symbol=name, kind="attribute", text="")


def _check_imports_are_used(reader: Reader) -> None:
    used = {imported for operation in reader.operations for imported in operation.imports}
    unused = [one.name for one in reader.imports if one not in used and one.name != "TYPE_CHECKING"]
    if unused and not reader.problems:
        reader.problem(
            reader.module.tree.body[0],
            f"imported but used by no operation: {', '.join(unused)}",
            "delete the import, or move it under `if TYPE_CHECKING:`",
        )


def anchored(operations: list[Operation]) -> Iterator[Operation]:
    """Tell every addition at module level in front of which upstream symbol it stands: the next one operated on."""
    for number, operation in enumerate(operations):
        following = (
            other.symbol.partition(".")[0]
            for other in operations[number + 1 :]
            if other.path == operation.path and (other.action != "added" or "." in other.symbol)
        )
        anchored = operation.action == "added" and "." not in operation.symbol
        yield dataclasses.replace(operation, before=next(following, "")) if anchored else operation
