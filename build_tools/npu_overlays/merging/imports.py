"""Imports: the ones an overlay's definitions need, merged into those upstream already has."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from npu_overlays.errors import Problem
from npu_overlays.overlay.operations import ImportedName, Operation
from npu_overlays.syntax.definitions import bound_name
from npu_overlays.syntax.splices import Splice
from npu_overlays.syntax.symbols import Module


def missing_imports(module: Module, operations: Iterable[Operation]) -> tuple[list[ImportedName], list[Problem]]:
    """Return the imports upstream's module lacks, in order, and those that would rebind one of its names."""
    present = set(_statements(module))
    wanted: dict[str, list[ImportedName]] = {}
    problems: list[Problem] = []
    for operation in operations:
        for imported in operation.imports:
            others = wanted.setdefault(imported.name, [])
            if imported.statement in present or imported in others:
                continue
            if _rebinds_upstream(module, imported):
                problems.append(_conflict(operation, imported, f"{module.path} already defines otherwise"))
            elif others and not (imported.binds_package and others[0].binds_package):
                problems.append(_conflict(operation, imported, f"`{others[0].statement}` binds as well"))
            else:
                others.append(imported)
    return [imported for imports in wanted.values() for imported in imports], problems


def import_splice(module: Module, imports: list[ImportedName], operations: Sequence[Operation]) -> Splice:
    """Return the insertion of `imports` behind the last import that stands before what may need them."""
    line = _last_import_line(module, operations)
    offset = module.line_end(line) if line else 0
    text = "".join(f"{imported.statement}\n" for imported in imports)
    if line and not module.content[:offset].endswith((b"\n", b"\r")):
        text = "\n" + text
    return Splice(start=offset, end=offset, text=text, where="merged imports")


def _rebinds_upstream(module: Module, imported: ImportedName) -> bool:
    """Return whether an import would bind one of upstream's names to something else."""
    known = module.definitions.get(imported.name, [])
    statements = [one for definition in known for one in _imports(definition.node) if one.name == imported.name]
    packages = imported.binds_package and len(statements) == len(known) and all(one.binds_package for one in statements)
    return bool(known) and not packages


def _conflict(operation: Operation, imported: ImportedName, what: str) -> Problem:
    return Problem(
        where=operation.where,
        what=f"`{imported.statement}` would rebind `{imported.name}`, which {what}",
        fix="import it under another name, or, where upstream's own is meant, under `if TYPE_CHECKING:`",
    )


def _statements(module: Module) -> Iterator[str]:
    """Yield every import at module level, one name each, as `ImportedName` writes it."""
    for node in module.tree.body:
        for imported in _imports(node):
            yield imported.statement
            if imported.binds_package:
                yield f"import {imported.name}"


def _imports(node: ast.stmt) -> Iterator[ImportedName]:
    """Yield what an import statement brings in, one name each; nothing for another statement."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        source = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            as_name = f" as {alias.asname}" if alias.asname else ""
            statement = f"from {source} import {alias.name}{as_name}" if source else f"import {alias.name}{as_name}"
            yield ImportedName(name=bound_name(node, alias), statement=statement)


def _last_import_line(module: Module, operations: Sequence[Operation]) -> int:
    """Return the 1-based line behind which imports go; 0 for the start of the file."""
    users = {name for operation in operations for name in (operation.symbol, operation.before) if name}
    last = 0
    for number, node in enumerate(module.tree.body):
        uses = module.names(node) & users and not isinstance(node, (ast.Import, ast.ImportFrom))
        if uses or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            break
        is_docstring = number == 0 and ast.get_docstring(module.tree, clean=False) is not None
        if isinstance(node, (ast.Import, ast.ImportFrom)) or is_docstring:
            last = node.end_lineno or node.lineno
    return last or _leading_comment_lines(module)


def _leading_comment_lines(module: Module) -> int:
    """Return how many lines at the top are comments (a shebang, a coding line, a licence)."""
    count = 0
    for line in module.content.splitlines():
        if not line.lstrip().startswith(b"#"):
            break
        count += 1
    return count
