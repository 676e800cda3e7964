"""Merge modules: bytes of an overlay file → its operations.

Each step below takes the result of the one before, and modifies nothing. Every mistake of a file is collected and
raised at once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from npu_overlays.errors import MergeError, Problem
from npu_overlays.model.code_blocks import names_in
from npu_overlays.model.selectors import selector, with_selector
from npu_overlays.overlay.operations import NO_FORMS, Edit, FormTargets, ImportedName, Like, Operation, with_anchors
from npu_overlays.overlay.parser.arguments import Arguments, read_arguments
from npu_overlays.overlay.parser.likes import Likes
from npu_overlays.overlay.parser.marks import Mark, read_marks
from npu_overlays.overlay.parser.misuse import misplaced
from npu_overlays.overlay.parser.parsed_file import ParsedFile, parse_file
from npu_overlays.overlay.parser.shared_names import rename_references

_KEPT = 256


def read_operations(
    file: str, content: bytes, *, layer: str, target: str = "", forms: FormTargets = NO_FORMS
) -> tuple[Operation, ...]:
    """Return the operations of a merge module, in the order of the text.

    Args:
        file: name of the file, for messages.
        content: its bytes.
        layer: name of the layer it belongs to, or of the pin.
        target: repository path its operations apply to; empty for a file of
            ``shared/``, whose operations name their targets themselves.
        forms: the targets of operations that name a model instead; one with unknown targets is unchanged.

    Raises:
        MergeError: with every mistake of the file.
    """
    # Only what names its targets itself may name a model instead.
    return _read(file, content, layer, target, () if target else tuple(forms.items()))


# The steps of a command read the same files.
@lru_cache(maxsize=_KEPT)
def _read(
    file: str, content: bytes, layer: str, target: str, forms: tuple[tuple[Like, tuple[str, ...]], ...]
) -> tuple[Operation, ...]:
    parsed = parse_file(file, content, layer=layer, target=target)
    operations: list[Operation] = []
    problems: list[Problem] = []
    for one in _read_operations(parsed, dict(forms)):
        if isinstance(one, Problem):
            problems.append(one)
        else:
            operations.append(one)
    if not target and all(operation.path for operation in operations):
        operations, strays = rename_references(parsed, operations)
        problems += strays
    MergeError.raise_for(problems or list(_idle(parsed, operations)))
    return with_anchors(operations)


def _read_operations(parsed: ParsedFile, forms: FormTargets) -> Iterator[Operation | Problem]:
    for mark in read_marks(parsed):
        if isinstance(mark, Problem):
            yield mark
            continue
        arguments = read_arguments(parsed, mark)
        yield from arguments.problems
        yield from misplaced(parsed, mark.node, mark.call, arguments.edits)
        operation = _operation(parsed, mark, arguments)
        if isinstance(arguments.targets, Likes) and not parsed.target and not operation.owner:
            for found, targets in _for_forms(operation, arguments.targets, forms):
                yield from [found] if targets is None else _for_targets(parsed, mark, found, targets)
        else:
            yield from _for_targets(parsed, mark, operation, arguments.targets)


def _operation(parsed: ParsedFile, mark: Mark, arguments: Arguments) -> Operation:
    """Return the operation of a mark, on the file's own target."""
    used: set[str] = set()
    for part in _merged_parts(mark):
        used |= {one.id for one in ast.walk(part) if isinstance(one, ast.Name)}
    for edit in arguments.edits:
        used |= set(names_in(edit.replace))
    return Operation(
        action=mark.action,
        path=parsed.target,
        symbol=mark.symbol,
        kind=mark.kind,
        text=mark.text,
        annotation=mark.annotation,
        upstream_name=parsed.upstream_name,
        edits=arguments.edits,
        imports=tuple(imported for imported in parsed.imports if imported.name in used),
        reason=arguments.reason,
        layer=parsed.layer,
        bounds=arguments.bounds,
        depends=arguments.depends,
        unproven=arguments.unproven,
        accept=arguments.accept,
        where=parsed.where(mark.node),
        uses=_uses(mark, arguments.edits),
    )


def _for_forms(operation: Operation, likes: Likes, forms: FormTargets) -> Iterator[tuple[Operation, list[str] | None]]:
    """Yield an operation once for each of its forms, with its targets; None where they are not known.

    What is of two forms is a target of the first.
    """
    seen: set[str] = set()
    for like, bounds in likes.bounds.items():
        found = replace(operation, shared=operation.name, like=like)
        if bounds:
            drop_when = operation.reason.drop_when or bounds.drop_when
            found = replace(found, bounds=bounds, reason=replace(operation.reason, drop_when=drop_when))
        names = forms.get(like)
        if names is None:
            yield found, None
        elif not seen.issuperset(names):
            yield found, [name for name in names if name not in {*like.but, *seen}]
            seen.update(names)


def _for_targets(
    parsed: ParsedFile, mark: Mark, operation: Operation, targets: object
) -> Iterator[Operation | Problem]:
    """Yield an operation; in ``shared/``, one for each of its targets."""
    if parsed.target:
        if targets is not None:
            fix = "take targets= out, or move the definition to shared/"
            yield parsed.problem(mark.node, "targets= belongs to files of shared/", fix)
        yield operation
        return
    if operation.owner:
        what = "a shared definition cannot stand inside a class"
        yield parsed.problem(mark.node, what, f"move it out of `{operation.owner}`, and name that in `targets`")
        return
    if not targets:
        what = "a shared definition names no targets"
        yield parsed.problem(mark.node, what, 'write targets=["path.py:Class.method"]')
        return
    if not isinstance(targets, (list, tuple)):
        yield parsed.problem(mark.node, "`targets` is no list", f'write targets=["{targets}"]')
        return
    for target in targets:
        path, _, symbol = str(target).partition(":")
        if not path.endswith(".py") or not symbol:
            yield parsed.problem(mark.node, f"`{target}` is not a target", 'write "path/of/file.py:Class.method"')
        else:
            chosen = symbol if selector(symbol) else with_selector(symbol, selector(operation.symbol))
            yield replace(operation, path=path, symbol=chosen, shared=operation.name)


def _merged_parts(mark: Mark) -> list[ast.AST]:
    """Return the parts of a marked statement that are merged unchanged."""
    node, edited = mark.node, mark.action == "edited"
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        parts: list[ast.AST] = [node.annotation] if isinstance(node, ast.AnnAssign) else []
        return parts if edited else [*parts, *mark.call.args]
    if edited:
        return []
    return [one for one in ast.iter_child_nodes(node) if one is not mark.call]


def _uses(mark: Mark, edits: Iterable[Edit]) -> dict[str, tuple[int, ...]]:
    """Return, by name, the lines on which a marked definition or its substitutions use it."""
    found: dict[str, set[int]] = {}
    for one in ast.walk(mark.node):
        if isinstance(one, ast.Name):
            found.setdefault(one.id, set()).add(one.lineno)
        elif isinstance(one, (ast.Import, ast.ImportFrom)):
            for alias in one.names:
                found.setdefault(f"import {alias.name}", set()).add(one.lineno)
    for edit in edits:
        for name in names_in(edit.replace):
            found.setdefault(name, set()).add(mark.call.lineno)
    return {name: tuple(sorted(lines)) for name, lines in found.items()}


def _idle(parsed: ParsedFile, operations: list[Operation]) -> Iterator[Problem]:
    """Yield the parts of a valid file without effect: imports that no operation uses, or a file without operations."""
    used: set[ImportedName] = set()
    for operation in operations:
        used.update(operation.imports)
    unused = [one.name for one in parsed.imports if one not in used and one.name != "TYPE_CHECKING"]
    if unused:
        what, fix = f"imported but used by no operation: {', '.join(unused)}", "delete the import, or move it under"
        yield parsed.problem(parsed.module.tree.body[0], what, f"{fix} `if TYPE_CHECKING:`")
    elif not operations:
        yield parsed.problem(
            parsed.module.tree, "holds no operation", "mark what changes with npu_overlays.markers, or delete the file"
        )
