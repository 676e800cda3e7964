"""Emitting: marker and what it marks → the operations it asks for."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator

from npu_overlays.overlay.arguments import check_uses, read_arguments, read_edits
from npu_overlays.overlay.marks import Reader
from npu_overlays.overlay.misuse import misplaced
from npu_overlays.overlay.operations import Edit, ImportedName, Operation, TargetKind
from npu_overlays.syntax.texts import names_in


def emit(  # noqa: PLR0913  # the parts of an Operation, read at different places
    reader: Reader,
    call: ast.Call,
    node: ast.stmt,
    *,
    symbol: str,
    kind: TargetKind,
    text: str,
    annotation: str = "",
) -> None:
    """Add to the reader's operations what one marker asks for: one operation, or in ``shared/`` one for each target.

    Args:
        reader: takes the operations and the mistakes.
        call: the marker.
        node: the statement it marks.
        symbol: qualified name of what is marked.
        kind: of the symbol.
        text: the definition or the value; what an edit's stands for is not used.
        annotation: of a value.
    """
    action = reader.action(call)
    arguments = read_arguments(reader, call)
    edits = tuple(read_edits(reader, call)) if action == "edited" else ()
    check_uses(reader, call, edits)
    for misuse in misplaced(reader, node, call, edits):
        reader.problem(*misuse)
    operation = Operation(
        action=action,
        path=reader.target,
        symbol=symbol,
        kind=kind,
        text="" if action == "edited" else text,
        annotation=annotation,
        upstream_name=reader.upstream_name,
        edits=edits,
        reason=arguments.reason,
        layer=reader.layer,
        bounds=arguments.bounds,
        depends=arguments.depends,
        where=reader.where(node),
        uses=_uses(node, call, edits),
    )
    merged = _merged_parts(node, call, edited=action == "edited")
    operation = dataclasses.replace(operation, imports=_needed_imports(reader, merged, edits))
    reader.operations.extend(_for_targets(reader, node, operation, arguments.targets))


def _uses(node: ast.stmt, call: ast.Call, edits: Iterable[Edit]) -> dict[str, tuple[int, ...]]:
    """Return the lines on which a marked definition or its substitutions name something, by that name."""
    found: dict[str, set[int]] = {}
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            found.setdefault(one.id, set()).add(one.lineno)
        elif isinstance(one, (ast.Import, ast.ImportFrom)):
            for alias in one.names:
                found.setdefault(f"import {alias.name}", set()).add(one.lineno)
    for edit in edits:
        for name in names_in(edit.replace):
            found.setdefault(name, set()).add(call.lineno)
    return {name: tuple(sorted(lines)) for name, lines in found.items()}


def _for_targets(reader: Reader, node: ast.stmt, operation: Operation, targets: object) -> Iterator[Operation]:
    if reader.target:
        if targets is not None:
            reader.problem(node, "targets= belongs to files of shared/", "take targets= out, or move the definition")
        yield operation
        return
    if "." in operation.symbol or not isinstance(targets, (list, tuple)) or not targets:
        reader.problem(
            node, "a shared definition stands at module level and names its targets", 'targets=["path.py:Class.method"]'
        )
        return
    for target in targets:
        path, _, symbol = str(target).partition(":")
        if not path.endswith(".py") or not symbol:
            reader.problem(node, f"`{target}` is not a target", 'write "path/of/file.py:Class.method"')
        else:
            yield dataclasses.replace(operation, path=path, symbol=symbol, shared=operation.symbol)


def _merged_parts(node: ast.stmt, call: ast.Call, *, edited: bool) -> list[ast.AST]:
    """Return the parts of a marked statement that are merged as they are written."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        annotation = [node.annotation] if isinstance(node, ast.AnnAssign) else []
        return [*annotation, *(() if edited else call.args)]
    return [] if edited else [one for one in ast.iter_child_nodes(node) if one is not call]


def _needed_imports(reader: Reader, merged: Iterable[ast.AST], edits: Iterable[Edit]) -> tuple[ImportedName, ...]:
    used = {one.id for part in merged for one in ast.walk(part) if isinstance(one, ast.Name)}
    used |= {name for edit in edits for name in names_in(edit.replace)}
    return tuple(imported for imported in reader.imports if imported.name in used)
