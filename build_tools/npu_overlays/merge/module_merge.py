"""Module merge: upstream's bytes and operations → patched bytes, and the declared changes.

Pure text work. Every byte no operation names stays as upstream has it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from npu_overlays.errors import MergeError, Problem, collected
from npu_overlays.merge.actions import additions, deletions, replacements, wraps
from npu_overlays.merge.edits import substitutions
from npu_overlays.merge.hidden_additions import hidden_additions
from npu_overlays.merge.import_merge import first_users, import_splice, missing_imports
from npu_overlays.merge.merged_text import MergedText
from npu_overlays.merge.remaining_text import bound_otherwise, read_otherwise, seen_by_upstream
from npu_overlays.merge.results import AppliedOperation, Declared, MergedModule
from npu_overlays.merge.sites import Companions, Site
from npu_overlays.model import Model, model_of_module
from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.encodings import as_declared, encoding_of
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, symbol_of
from npu_overlays.model.splices import Splice, overlapping
from npu_overlays.overlay.operations import Action, ImportedName, Operation, Reason

_SPLICES: dict[Action, Callable[[Site], list[Splice]]] = {
    "added": additions.splices,
    "replaced": replacements.splices,
    "wrapped": wraps.splices,
    "edited": substitutions.splices,
    "deleted": deletions.splices,
}


def merge(
    path: str, content: bytes, operations: Sequence[Operation], *, distribution: str, purpose: str = ""
) -> tuple[bytes, tuple[Declared, ...]]:
    """Return the patched bytes of one upstream module and the declared changes; see `merged_module`."""
    result = merged_module(path, content, operations, distribution=distribution, purpose=purpose)
    return result.content, result.declared


def merged_module(  # noqa: PLR0913  # the module, what is done to it and what it stands among
    path: str,
    content: bytes,
    operations: Sequence[Operation],
    *,
    distribution: str,
    purpose: str = "",
    model: Model | None = None,
) -> MergedModule:
    """Apply operations to one upstream module.

    Args:
        path: repository path, for messages.
        content: upstream's bytes.
        operations: all operations on this file.
        distribution: name of the built distribution, for the notices; empty for no notices.
        purpose: what the changes are for, likewise; may be empty.
        model: of the tree it is part of; without one, nothing is known of other modules.

    Returns:
        The patched bytes, one `Declared` for every operation and merged import, and who wrote which bytes.

    Raises:
        MergeError: with every operation that does not fit, and why.
    """
    module = _read(path, content, operations[0].where if operations else path)
    model = model or model_of_module(path, content)
    operations, problems = _one_for_each_symbol(operations)
    imports, conflicts = missing_imports(module, operations)
    site = partial(Site, module=module, companions=Companions(operations), classes=model.classes)
    changes, unfit = _applied(site(operation=one, distribution=distribution, purpose=purpose) for one in operations)
    problems += [*conflicts, *unfit, *_overlapping(changes)]
    problems += seen_by_upstream(module, imports, operations, changes)
    problems += _unwritable(module, imports, changes)
    MergeError.raise_for(dict.fromkeys(problems))
    merged = _merge(module, imports, changes, model)
    made = as_declared(merged.content, content)
    declared = tuple(_declarations(module, merged, operations, model.classes))
    return MergedModule(content=made, declared=declared, authorship=merged.authorship)


def _applied(sites: Iterable[Site]) -> tuple[list[AppliedOperation], list[Problem]]:
    """Return the result of each operation, and the problems of those that do not fit."""
    changes: list[AppliedOperation] = []
    problems: list[Problem] = []
    for site in sites:
        with collected(problems, MergeError):
            changes.append(AppliedOperation(operation=site.operation, splices=tuple(splices_of(site))))
    return changes, problems


def _read(path: str, content: bytes, where: str) -> Module:
    """Return upstream's module; raises `MergeError` at the operation if this Python cannot parse the module."""
    try:
        return Module(path, content)
    except MergeError as error:
        this = ".".join(map(str, sys.version_info[:2]))
        fix = f"use a patch; or build with a newer Python, if that can read it (this is {this})"
        found = [
            Problem(where=where, what=f"upstream's {one.where} is {one.what}", fix=one.fix or fix)
            for one in error.problems
        ]
        raise MergeError(found) from error


def splices_of(site: Site) -> list[Splice]:
    """Return the splices of one operation by itself; raises `MergeError` if it does not fit."""
    return _SPLICES[site.operation.action](site)


def _merge(module: Module, imports: list[ImportedName], changes: list[AppliedOperation], model: Model) -> MergedText:
    """Return the merged module; raises `MergeError` if its text does not mean what the overlay says."""
    merged = _with_imports(module, imports, changes)
    if not _keeps_encoding(module, merged.content):
        what = "a comment of the overlay would be read as the encoding of the file, in its first two lines"
        fix = "write it without `coding:` or `coding=`"
        raise MergeError(Problem(where=changes[0].operation.where, what=what, fix=fix))
    if merged.is_python and (late := merged.late_imports()):
        merged = _with_imports(module, [*imports, *late], changes)
    problems = list(merged.problems()) if merged.is_python else []
    if merged.is_python:
        problems += read_otherwise(module, merged.module, merged.scopes, merged.authorship, changes)
        problems += bound_otherwise(module, merged.module, merged.authorship, changes)
        problems += hidden_additions(module, merged.module, merged.authorship, changes, model)
    MergeError.raise_for(dict.fromkeys(problems))
    return merged


def _with_imports(module: Module, imports: list[ImportedName], changes: list[AppliedOperation]) -> MergedText:
    """Return the merged module with the imports above everything that may need them."""
    limit = len(module.content)
    for change in changes:
        if change.operation.action != "deleted":
            limit = min([limit, *(one.start for one in change.splices)])
    inserted: list[Splice] = []
    if imports:
        user = first_users([change.operation for change in changes])[imports[0]]
        inserted.append(import_splice(module, imports, limit=limit, where=user.where))
    return MergedText(module, imports, changes, inserted)


def _keeps_encoding(module: Module, result: bytes) -> bool:
    try:
        return encoding_of(result) == module.encoding
    except SyntaxError:
        return False


def _unwritable(
    module: Module, imports: Iterable[ImportedName], changes: Iterable[AppliedOperation]
) -> Iterator[Problem]:
    """Yield a problem for every operation with a character that the module's encoding lacks."""
    for change in changes:
        texts = [one.text for one in change.splices]
        texts += [one.statement for one in imports if one in change.operation.imports]
        try:
            "".join(texts).encode(module.encoding)
        except UnicodeEncodeError as error:
            character = error.object[error.start]
            what = (
                f"puts `{character}` (U+{ord(character):04X}) into {module.path}, whose encoding, {module.encoding},"
                " does not have it"
            )
            escape = ascii(character)[1:-1]
            yield Problem(where=change.operation.where, what=what, fix=f"write it as `{escape}` in a string")


def _declarations(
    module: Module, merged: MergedText, operations: Sequence[Operation], classes: ClassGraph
) -> Iterator[Declared]:
    """Yield the declared changes of operations and their imports."""
    after = merged.module if merged.is_python else module
    emptied: list[Declared] = []
    for operation in operations:
        declared = _declaration(operation, module, after, classes)
        yield declared
        if operation.emptying:
            emptied.append(declared)
    # Statements that bind nothing themselves, as an `if`, go with an emptied module too.
    yield from (replace(one, symbol="") for one in emptied[:1])
    for imported in merged.imports:
        users = [operation for operation in operations if imported in operation.imports]
        yield Declared(
            path=module.path,
            symbol=imported.name,
            operation="import",
            reason=Reason(why=f"needed by {', '.join(dict.fromkeys(user.symbol for user in users))}"),
            layer=users[0].layer,
            where=users[0].where,
        )


def _declaration(operation: Operation, before: Module, after: Module, classes: ClassGraph) -> Declared:
    """Return an operation's declared change, under the name that a comparison of the modules uses."""
    module = after if operation.action == "added" else before
    known = next(iter(chosen(module, operation.symbol)), None)
    return Declared(
        path=operation.path,
        symbol=symbol_of(module, known) if known else operation.symbol,
        operation=operation.action,
        reason=operation.reason,
        layer=operation.layer,
        private=wraps.private_name(classes, module, known) if known and operation.action == "wrapped" else "",
        where=operation.where,
        form=operation.like.model if operation.like else "",
    )


def _one_for_each_symbol(operations: Iterable[Operation]) -> tuple[list[Operation], list[Problem]]:
    """Return one operation for each symbol, from the highest layer, and a problem for each other one."""
    chosen: dict[str, Operation] = {}
    problems = []
    for operation in operations:
        known = chosen.setdefault(operation.symbol, operation)
        if known is not operation:
            what = f"second operation on `{operation.symbol}` of {operation.path}; the first is {known.where}"
            problems.append(Problem(where=operation.where, what=what, fix=_one_of(known, operation)))
            chosen[operation.symbol] = operation if operation.layer != known.layer else known
    return list(chosen.values()), problems


def _overlapping(changes: Sequence[AppliedOperation]) -> Iterator[Problem]:
    """Yield a problem for every operation that changes text which another one changes."""
    listed = list(chain.from_iterable(change.splices for change in changes))
    numbers = {change.operation.where: number for number, change in enumerate(changes)}
    for pair in overlapping(listed):
        earlier, later = sorted(numbers[one.where] for one in pair)
        first, second = changes[earlier].operation, changes[later].operation
        what = f"changes the same lines as {first.where}"
        yield Problem(where=second.where, what=what, fix=_one_of(first, second))


def _one_of(first: Operation, second: Operation) -> str:
    """Return what to do about two operations that exclude each other; the second is written later."""
    found = second if second.like else first
    if found.like and first.symbol == second.symbol:
        return f'add "{found.path}:{found.symbol}" to `but` of {found.where}, with the reason'
    if first.layer != second.layer:
        left_out = f'a table [[drop]] of {second.layer} with name = "{first.path}:{first.symbol}" and why'
        return f"leave out that of {first.layer}: {left_out}"
    if first.symbol == second.symbol and first.action == second.action == "added":
        return "add it once, of a function only what runs, without @overload"
    if first is second or first.symbol != second.symbol:
        return "join the two operations"
    return "join the two operations, or let since= and until= say which upstream versions each is for"
