"""Imports: the ones an overlay's definitions need, merged into those upstream already has."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from npu_overlays.errors import Problem
from npu_overlays.operations import ImportedName, Operation
from npu_overlays.splices import Splice
from npu_overlays.symbols import Module, bound_name


def missing_imports(module: Module, operations: Iterable[Operation]) -> tuple[list[ImportedName], list[Problem]]:
    """Return the imports upstream's module lacks, in order, and those that would rebind one of its names."""
    present = set(_statements(module))
    wanted: dict[str, ImportedName] = {}
    problems: list[Problem] = []
    for operation in operations:
        for imported in operation.imports:
            if imported.statement in present:
                continue
            other = wanted.setdefault(imported.name, imported)
            if imported.name in module.definitions or other.statement != imported.statement:
                problems.append(_conflict(module, operation, imported))
    kept = [imported for imported in wanted.values() if imported.name not in module.definitions]
    return kept, problems


def import_splice(module: Module, imports: list[ImportedName]) -> Splice:
    """Return the insertion of `imports` behind the last import that stands before the first definition."""
    line = _last_import_line(module)
    offset = module.line_end(line) if line else 0
    text = "".join(f"{imported.statement}\n" for imported in imports)
    if line and not module.content[:offset].endswith((b"\n", b"\r")):
        text = "\n" + text
    return Splice(start=offset, end=offset, text=text, where="merged imports")


def _conflict(module: Module, operation: Operation, imported: ImportedName) -> Problem:
    return Problem(
        where=operation.where,
        what=f"`{imported.statement}` would rebind `{imported.name}`, which {module.path} already defines otherwise",
        fix="import it under another name",
    )


def _statements(module: Module) -> Iterator[str]:
    """Yield every import at module level, one name each, as `ImportedName` writes it."""
    for node in module.tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            source = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                plain_dotted = not source and "." in alias.name and not alias.asname
                as_name = f" as {alias.asname}" if alias.asname else ""
                yield f"from {source} import {alias.name}{as_name}" if source else f"import {alias.name}{as_name}"
                if plain_dotted:
                    yield f"import {bound_name(node, alias)}"


def _last_import_line(module: Module) -> int:
    """Return the 1-based line behind which imports go; 0 for the start of the file."""
    last = 0
    for number, node in enumerate(module.tree.body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
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
