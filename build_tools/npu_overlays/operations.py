"""Operations: a merge module's text in, the list of changes it asks for out.

Nothing is executed: markers are recognised by syntax. Every mistake of a file
is collected and raised at once.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from npu_overlays.errors import MergeError, Problem
from npu_overlays.symbols import Module, bound_name
from npu_overlays.tokens import continuation_lines, significant

Action = Literal["added", "replaced", "wrapped", "edited", "deleted"]
TargetKind = Literal["function", "class", "attribute"]

MARKERS_MODULE = "npu_overlays.markers"
ACTIONS: tuple[Action, ...] = ("added", "replaced", "wrapped", "edited", "deleted")
_TEXTS = ("why", "forwarded", "drop_when")


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why an operation exists; this is the ledger, there is no other."""

    why: str
    forwarded: str = ""
    drop_when: str = ""


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One counted substitution of a token sequence inside a symbol."""

    find: str
    replace: str
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class ImportedName:
    """One name a definition needs: the name it binds and the statement that binds it."""

    name: str
    statement: str


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One change of one upstream symbol.

    Args:
        action: what is done.
        path: repository path of the file changed.
        symbol: qualified name of the symbol changed, ``Class.method``.
        kind: what the definition in the overlay is; for `deleted` and `edited`, upstream's kind decides.
        text: the definition in the overlay, unindented, without markers; for attributes the value's text.
        annotation: annotation of an added attribute, or empty.
        upstream_name: the name by which a wrapped definition refers to the original.
        edits: the substitutions of `edited`.
        imports: names the text needs from the overlay's imports.
        before: for `added` at module level, the upstream symbol it must stand in front of; empty: at the end.
        reason: why.
        overlay: the overlay that says so, ``verl@796871d``.
        where: file and line in the overlay, for messages.
    """

    action: Action
    path: str
    symbol: str
    kind: TargetKind
    text: str = ""
    annotation: str = ""
    upstream_name: str = "upstream"
    edits: tuple[Edit, ...] = ()
    imports: tuple[ImportedName, ...] = ()
    before: str = ""
    reason: Reason
    overlay: str
    where: str


@dataclass(kw_only=True)
class _Reader:
    """Collects the operations and the mistakes of one overlay file."""

    file: str
    overlay: str
    module: Module
    target: str
    markers: dict[str, str] = field(default_factory=dict)
    imports: dict[str, ImportedName] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def problem(self, node: ast.AST, what: str, fix: str = "") -> None:
        self.problems.append(Problem(where=self.where(node), what=what, fix=fix))

    def where(self, node: ast.AST) -> str:
        return f"{self.file}:{getattr(node, 'lineno', 1)}"


def uses_markers(content: bytes) -> bool:
    """Return whether a file imports the overlay vocabulary, that is, means to be merged."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return MARKERS_MODULE.encode() in content
    return any(isinstance(node, ast.ImportFrom) and node.module == MARKERS_MODULE for node in ast.walk(tree))


def read_operations(file: str, content: bytes, *, overlay: str, target: str = "") -> tuple[Operation, ...]:
    """Return the operations of a merge module, in the order in which they are written.

    Args:
        file: name of the file, for messages.
        content: its bytes.
        overlay: name of the overlay it belongs to.
        target: repository path its operations apply to; empty for a file of
            ``shared/``, whose operations name their targets themselves.

    Raises:
        MergeError: with every mistake of the file.
    """
    reader = _Reader(file=file, overlay=overlay, module=Module(file, content), target=target)
    for statement in reader.module.tree.body:
        _read_statement(reader, statement, parent="")
    _check_imports_are_used(reader)
    if not reader.operations and not reader.problems:
        reader.problem(reader.module.tree, "holds no operation", "mark what changes, or delete the file")
    if reader.problems:
        raise MergeError(reader.problems)
    return tuple(_with_anchors(reader.operations))


def _read_statement(reader: _Reader, node: ast.stmt, *, parent: str) -> None:
    if isinstance(node, (ast.Import, ast.ImportFrom)) and not parent:
        _read_import(reader, node)
    elif _is_ignored(node):
        return
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        _read_definition(reader, node, parent)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and _marker_call(reader, node.value):
        _read_assignment(reader, node, parent)
    elif isinstance(node, ast.Expr) and _marker_call(reader, node.value):
        _read_deletion(reader, node, parent)
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


def _read_import(reader: _Reader, node: ast.Import | ast.ImportFrom) -> None:
    module = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    if module == MARKERS_MODULE:
        reader.markers.update({bound_name(node, alias): alias.name for alias in node.names})
        return
    if module == "__future__":
        reader.problem(node, "a __future__ import would change all of the upstream module", "take it out")
        return
    if module.startswith(".") and not reader.target:
        reader.problem(node, "a relative import means something else in every target", "write the absolute import")
    for alias in node.names:
        if alias.name == "*" or alias.name.partition(".")[0] == MARKERS_MODULE.partition(".")[0]:
            reader.problem(node, f"cannot merge this import of `{alias.name}`", f"from {MARKERS_MODULE} import NAME, …")
            continue
        as_name = f" as {alias.asname}" if alias.asname else ""
        statement = f"from {module} import {alias.name}{as_name}" if module else f"import {alias.name}{as_name}"
        reader.imports[bound_name(node, alias)] = ImportedName(name=bound_name(node, alias), statement=statement)


def _read_definition(reader: _Reader, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, parent: str) -> None:
    marked = [decorator for decorator in node.decorator_list if _marker_call(reader, decorator)]
    name = f"{parent}.{node.name}" if parent else node.name
    if not marked:
        _read_container(reader, node, name)
        return
    if len(marked) > 1:
        reader.problem(node, f"`{name}` is marked {len(marked)} times", "one operation for one symbol")
        return
    call = marked[0]
    assert isinstance(call, ast.Call)  # noqa: S101  # _marker_call says so
    action = _action(reader, call)
    if isinstance(node, ast.ClassDef) and action == "wrapped":
        reader.problem(node, f"`{name}` is a class and cannot be wrapped", "wrap its methods, or replace the class")
        return
    kept = [decorator for decorator in node.decorator_list if decorator is not call]
    if action == "wrapped" and kept:
        reader.problem(
            kept[0],
            f"upstream's decorators stay on the wrapped `{name}`; further ones are not merged",
            "take the decorator out, or use @replaced",
        )
    if action == "edited" and not _is_ignored(node.body[-1]):
        reader.problem(node, f"the body of the edited `{name}` is not used", "write `...` as its body")
    kind: TargetKind = "class" if isinstance(node, ast.ClassDef) else "function"
    _emit(reader, call, action, node, symbol=name, kind=kind, text=_definition_text(reader.module, node, kept))


def _read_container(reader: _Reader, node: ast.stmt, name: str) -> None:
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


def _read_assignment(reader: _Reader, node: ast.Assign | ast.AnnAssign, parent: str) -> None:
    call = node.value
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    assert isinstance(call, ast.Call)  # noqa: S101  # the caller checked
    action = _action(reader, call)
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        reader.problem(node, "an operation on a value needs one plain name on its left", "NAME = marker(…)")
        return
    if action not in ("added", "replaced", "edited"):
        reader.problem(node, f"{action}() cannot be assigned", "use added, replaced or edited on a value")
        return
    if action != "edited" and len(call.args) != 1:
        reader.problem(node, f"{action}() on a value takes the value and keywords", f"NAME = {action}(value, why=…)")
        return
    name = f"{parent}.{targets[0].id}" if parent else targets[0].id
    value = "" if action == "edited" else _value_text(reader.module, call.args[0])
    annotation = reader.module.text(node.annotation) if isinstance(node, ast.AnnAssign) else ""
    _emit(reader, call, action, node, symbol=name, kind="attribute", text=value, annotation=annotation)


def _read_deletion(reader: _Reader, node: ast.Expr, parent: str) -> None:
    call = node.value
    assert isinstance(call, ast.Call)  # noqa: S101  # the caller checked
    values = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    names = [value for value in values if isinstance(value, str)]
    if _action(reader, call) != "deleted" or len(call.args) != 1 or not names:
        reader.problem(node, "not an operation", 'deleted("name", why=…), or a marker on a definition')
        return
    name = f"{parent}.{names[0]}" if parent else names[0]
    _emit(reader, call, "deleted", node, symbol=name, kind="attribute", text="")


def _emit(  # noqa: PLR0913  # the parts of an Operation, read at different places
    reader: _Reader,
    call: ast.Call,
    action: Action,
    node: ast.stmt,
    *,
    symbol: str,
    kind: TargetKind,
    text: str,
    annotation: str = "",
) -> None:
    keywords = _keywords(reader, call)
    targets = keywords.pop("targets", None)
    edits = tuple(_edits(reader, call)) if action == "edited" else ()
    operation = Operation(
        action=action,
        path=reader.target,
        symbol=symbol,
        kind=kind,
        text=text,
        annotation=annotation,
        upstream_name=next((name for name, marker in reader.markers.items() if marker == "upstream"), "upstream"),
        edits=edits,
        imports=_needed_imports(reader, text, annotation, *(edit.replace for edit in edits)),
        reason=Reason(**{name: str(keywords.get(name, "")) for name in _TEXTS}),
        overlay=reader.overlay,
        where=reader.where(node),
    )
    reader.operations.extend(_for_targets(reader, node, operation, targets))


def _for_targets(reader: _Reader, node: ast.stmt, operation: Operation, targets: object) -> Iterator[Operation]:
    if reader.target:
        if targets is not None:
            reader.problem(node, "targets= belongs to files of shared/", "take targets= out, or move the definition")
        yield operation
        return
    if "." in operation.symbol or not isinstance(targets, list) or not targets:
        reader.problem(
            node, "a shared definition stands at module level and names its targets", 'targets=["path.py:Class.method"]'
        )
        return
    for target in targets:
        path, _, symbol = str(target).partition(":")
        if not path.endswith(".py") or not symbol:
            reader.problem(node, f"`{target}` is not a target", 'write "path/of/file.py:Class.method"')
        else:
            yield dataclasses.replace(operation, path=path, symbol=symbol)


def _marker_call(reader: _Reader, node: ast.expr | None) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and reader.markers.get(node.func.id, "") in ACTIONS
    )


def _action(reader: _Reader, call: ast.Call) -> Action:
    assert isinstance(call.func, ast.Name)  # noqa: S101  # _marker_call says so
    marker = reader.markers[call.func.id]
    return next(action for action in ACTIONS if action == marker)


def _keywords(reader: _Reader, call: ast.Call) -> dict[str, object]:
    values: dict[str, object] = {}
    for keyword in call.keywords:
        if keyword.arg not in (*_TEXTS, "targets"):
            reader.problem(call, f"unknown argument `{keyword.arg or '**'}`", f"use {', '.join(_TEXTS)} or targets")
            continue
        try:
            values[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            reader.problem(call, f"`{keyword.arg}` is not a literal", "nothing is executed at build time: write it out")
    for name in _TEXTS:
        if not isinstance(values.get(name, ""), str):
            reader.problem(call, f"`{name}` is not a text", f'{name}="…"')
    if not str(values.get("why", "")).strip():
        reader.problem(call, "`why` is missing", 'why="the reason, one sentence for a user of the wheel"')
    return values


def _edits(reader: _Reader, call: ast.Call) -> Iterator[Edit]:
    if not call.args:
        reader.problem(call, "edited() without substitutions", 'edited(("find", "replace"), why=…)')
    for argument in call.args:
        try:
            find, replace, count = (*ast.literal_eval(argument), 1)[:3]
            edit = Edit(find=find, replace=replace, count=count)
        except (ValueError, TypeError):
            reader.problem(argument, "not a substitution", 'write ("find", "replace") or ("find", "replace", count)')
            continue
        if not isinstance(edit.find, str) or not significant(edit.find) or not isinstance(edit.replace, str):
            reader.problem(argument, "find and replace must be texts, and find must hold code", "")
        elif not isinstance(edit.count, int) or edit.count < 1:
            reader.problem(
                argument, f"{edit.count!r} is not how often `{edit.find}` can occur", "a whole number from 1"
            )
        else:
            yield edit


def _definition_text(module: Module, node: ast.stmt, decorators: list[ast.expr]) -> str:
    """Return a definition's text at column 0, with only the given decorators."""
    last = node.end_lineno or node.lineno
    lines = [f"@{module.text(decorator)}\n" for decorator in decorators]
    return "".join(lines) + reindent(module.lines(node.lineno, last), old=module.indentation(node), new="")


def _value_text(module: Module, node: ast.expr) -> str:
    text = module.text(node).replace("\r\n", "\n")
    return f"({text})" if "\n" in text and text[0] not in "([{" else text


def reindent(text: str, *, old: str, new: str) -> str:
    """Return a block of statements moved from indentation `old` to `new`; lines inside strings stay as they are."""
    kept = continuation_lines(text)
    lines = text.splitlines(keepends=True)
    return "".join(
        line if number in kept or not line.strip() else new + line.removeprefix(old)
        for number, line in enumerate(lines)
    )


def _needed_imports(reader: _Reader, *texts: str) -> tuple[ImportedName, ...]:
    used = {name for text in texts for name in _names(text)}
    return tuple(imported for name, imported in reader.imports.items() if name in used)


def _names(text: str) -> Iterator[str]:
    """Yield the names a definition or a fragment of code mentions, those inside f-strings included."""
    yield from (token.text for token in significant(text) if token.kind == "name")
    with contextlib.suppress(SyntaxError):
        yield from (node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))


def _check_imports_are_used(reader: _Reader) -> None:
    used = {imported.name for operation in reader.operations for imported in operation.imports}
    unused = [name for name in reader.imports if name not in used and name != "TYPE_CHECKING"]
    if unused and not reader.problems:
        reader.problem(
            reader.module.tree.body[0],
            f"imported but used by no operation: {', '.join(unused)}",
            "delete the import, or move it under `if TYPE_CHECKING:`",
        )


def _with_anchors(operations: list[Operation]) -> Iterator[Operation]:
    """Tell every addition at module level in front of which upstream symbol it stands: the next one operated on."""
    for number, operation in enumerate(operations):
        following = (
            other.symbol.partition(".")[0]
            for other in operations[number + 1 :]
            if other.path == operation.path and (other.action != "added" or "." in other.symbol)
        )
        anchored = operation.action == "added" and "." not in operation.symbol
        yield dataclasses.replace(operation, before=next(following, "")) if anchored else operation
