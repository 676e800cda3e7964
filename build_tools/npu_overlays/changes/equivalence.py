"""Equivalence: definitions and scopes → texts, equal where the code means the same."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from npu_overlays.model import fingerprint
from npu_overlays.model.definitions import Definition, blocks, stored_names
from npu_overlays.model.module import Module

_BINDING_STATEMENTS = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.Pass,
)


def meaning(definitions: list[Definition]) -> list[tuple[str, tuple[str, ...], str]]:
    """Return what the definitions of one name mean, in order: kind, the branches they stand in, their syntax."""
    return [(definition.kind, definition.branch, _definition_dump(definition)) for definition in definitions]


def _definition_dump(definition: Definition) -> str:
    """Return what a definition means; of an import, only the name in question."""
    node = definition.node
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        leaf = definition.name.rpartition(".")[2]
        names = [alias for alias in node.names if leaf in (alias.asname, alias.name, alias.name.partition(".")[0])]
        module = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else "import"
        return module + "".join(fingerprint.dump(alias) for alias in names)
    # What stands in a class is compared member by member.
    return bases(node) + decorators(node) if isinstance(node, ast.ClassDef) else fingerprint.dump(node)


def bases(node: ast.stmt) -> str:
    """Return what stands in a class's parentheses."""
    fields = [*getattr(node, "bases", []), *getattr(node, "keywords", []), *getattr(node, "type_params", [])]
    return "".join(map(fingerprint.dump, fields))


def decorators(node: ast.stmt) -> str:
    """Return a definition's decorators."""
    return "".join(map(fingerprint.dump, getattr(node, "decorator_list", [])))


def statements(module: Module, scope: str) -> list[tuple[str, int, str]]:
    """Return (meaning, line, first line of source) of the statements in a scope that bind no name."""
    found = []
    for node in (statement for owner in owners(module, scope) for statement in owner.body):
        skeleton = "" if _is_text(node) else _skeleton(node)
        if skeleton:
            first = " ".join(module.lines(node.lineno, node.lineno).split())
            found.append((skeleton, node.lineno, first[:60]))
    return found


def _skeleton(node: ast.stmt) -> str:
    """Return the meaning of a statement less the definitions in it; empty for a definition."""
    if any(block for _, block in blocks(node)):
        return "".join(_branches(node))
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return fingerprint.dump(node)
    if isinstance(node, _BINDING_STATEMENTS):
        return ""
    return "" if any(stored_names(node)) else fingerprint.dump(node)


def _branches(node: ast.stmt) -> Iterator[str]:
    """Yield the parts of an ``if``, ``try``, … that bind no name: its head, its handlers, the statements in it."""
    yield from _head(node)
    for handler in getattr(node, "handlers", []):
        yield fingerprint.dump(handler.type) + str(handler.name) if handler.type else "except"
    for case in getattr(node, "cases", []):
        yield fingerprint.dump(case.pattern) + (fingerprint.dump(case.guard) if case.guard else "")
    for branch, block in blocks(node):
        yield from (f"{branch}:{text}" for child in block if (text := _skeleton(child)))


def _head(node: ast.stmt) -> Iterator[str]:
    """Yield what a statement with branches is, and what stands between it and its first colon."""
    yield type(node).__name__
    for name, value in ast.iter_fields(node):
        if name not in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from (fingerprint.dump(part) for part in (value if isinstance(value, list) else [value]))


def owners(module: Module, scope: str) -> list[ast.Module | ast.ClassDef]:
    """Return the module itself, or every definition of one of its classes."""
    nodes = [definition.node for definition in module.definitions.get(scope, [])] if scope else [module.tree]
    return [node for node in nodes if isinstance(node, (ast.Module, ast.ClassDef))]


def order(module: Module, scope: str) -> list[tuple[str, int]]:
    """Return (what happens, line) in the body of a module or class, in order.

    What happens is a name that is bound, a statement that binds none, or the beginning or end of a branch.
    """
    return [entry for owner in owners(module, scope) for entry in _happening(module, owner.body)]


def _happening(module: Module, body: Iterable[ast.stmt], within: str = "") -> Iterator[tuple[str, int]]:
    """Yield what `order` returns; a statement is another one in another branch, a name is the same."""
    for node in body:
        yield from ((f"name {name}", node.lineno) for name in sorted(module.names(node)))
        branches = [(field, block) for field, block in blocks(node) if block]
        head = "".join(_head(node)) if branches else ""
        for field, block in branches:
            yield f"{within}{field} {head}", node.lineno
            yield from _happening(module, block, f"{within}{field} {head} ")
        if branches:
            yield f"{within}end {head}", node.end_lineno or node.lineno
        elif not _is_text(node) and (text := _skeleton(node)):
            yield within + text, node.lineno


def _is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring, or as good as one."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
