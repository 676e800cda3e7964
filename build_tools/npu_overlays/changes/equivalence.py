"""Equivalence: definitions and scopes → texts that are equal if the code means the same."""

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
# Everything else of a statement with branches stands before its first colon.
_BRANCH_FIELDS = ("body", "orelse", "finalbody", "handlers", "cases")


def meaning(definitions: Iterable[Definition]) -> list[tuple[str, tuple[str, ...], str]]:
    """Return kind, enclosing branches and syntax of each definition of a name, in order."""
    return [(definition.kind, definition.branch, _definition_dump(definition)) for definition in definitions]


def _definition_dump(definition: Definition) -> str:
    """Return the syntax of a definition; of an import, only the part for the name."""
    node = definition.node
    if isinstance(node, ast.ClassDef):  # its body is compared member by member
        return bases(node) + decorators(node)
    if not isinstance(node, (ast.Import, ast.ImportFrom)):
        return fingerprint.dump(node)
    text = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else "import"
    leaf = definition.name.rpartition(".")[2]
    for alias in node.names:
        if leaf in (alias.asname, alias.name, alias.name.partition(".")[0]):
            text += fingerprint.dump(alias)
    return text


def bases(node: ast.stmt) -> str:
    """Return the syntax of a class's bases, keywords and type parameters."""
    fields = [*getattr(node, "bases", []), *getattr(node, "keywords", []), *getattr(node, "type_params", [])]
    return "".join(map(fingerprint.dump, fields))


def decorators(node: ast.stmt) -> str:
    """Return the syntax of a definition's decorators."""
    return "".join(map(fingerprint.dump, getattr(node, "decorator_list", [])))


def statements(module: Module, scope: str) -> list[tuple[str, int, str]]:
    """Return (meaning, line, first line of source) of the statements in a scope that bind no name."""
    found = []
    for owner in owners(module, scope):
        for node in owner.body:
            skeleton = "" if _is_text(node) else _skeleton(node)
            if skeleton:
                found.append((skeleton, node.lineno, statement_name(module.lines(node.lineno, node.lineno))))
    return found


def statement_name(line: str) -> str:
    """Return the name that a change gives a statement without one: its first line, shortened if it is long."""
    return " ".join(line.split())[:60]


def _skeleton(node: ast.stmt) -> str:
    """Return the meaning of a statement without the definitions in it; empty for a definition."""
    if any(block for _, block in blocks(node)):
        return "".join(_branches(node))
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return fingerprint.dump(node)
    if isinstance(node, _BINDING_STATEMENTS) or any(stored_names(node)):
        return ""
    return fingerprint.dump(node)


def _branches(node: ast.stmt) -> Iterator[str]:
    """Yield the parts of an ``if``, ``try``, … that bind no name: its header, its handlers, its statements."""
    yield _head(node)
    for handler in getattr(node, "handlers", []):
        yield fingerprint.dump(handler.type) + str(handler.name) if handler.type else "except"
    for case in getattr(node, "cases", []):
        yield fingerprint.dump(case.pattern) + (fingerprint.dump(case.guard) if case.guard else "")
    for branch, block in blocks(node):
        for text in filter(None, map(_skeleton, block)):
            yield f"{branch}:{text}"


def _head(node: ast.stmt) -> str:
    """Return the type of a statement with branches, and the syntax before its first colon."""
    head = type(node).__name__
    for name, value in ast.iter_fields(node):
        if name not in _BRANCH_FIELDS:
            head += "".join(map(fingerprint.dump, value if isinstance(value, list) else [value]))
    return head


def owners(module: Module, scope: str) -> list[ast.Module | ast.ClassDef]:
    """Return the module itself, or every definition of one of its classes."""
    if not scope:
        return [module.tree]
    found: list[ast.Module | ast.ClassDef] = []
    for definition in module.definitions.get(scope, []):
        if isinstance(definition.node, ast.ClassDef):
            found.append(definition.node)
    return found


def order(module: Module, scope: str) -> list[tuple[str, int]]:
    """Return (event, line) in the body of a module or class, in order.

    An event is a name that is bound, a statement that binds none, or the beginning or end of a branch.
    """
    events: list[tuple[str, int]] = []
    for owner in owners(module, scope):
        events += _events(module, owner.body)
    return events


def _events(module: Module, body: Iterable[ast.stmt], within: str = "") -> Iterator[tuple[str, int]]:
    """Yield the events of a body; equal statements in different branches are different events, equal names are not."""
    for node in body:
        for name in sorted(module.names(node)):
            yield f"name {name}", node.lineno
        branches = [(field, block) for field, block in blocks(node) if block]
        if branches:
            head = _head(node)
            for field, block in branches:
                yield f"{within}{field} {head}", node.lineno
                yield from _events(module, block, f"{within}{field} {head} ")
            yield f"{within}end {head}", node.end_lineno or node.lineno
        elif not _is_text(node) and (text := _skeleton(node)):
            yield within + text, node.lineno


def _is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring or another bare constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
