"""Statement effects: a statement → the names that it reads, binds and may change when it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.model.definitions import FUNCTIONS, bound_name

IMPORTS = (ast.Import, ast.ImportFrom)
NAMED = (*FUNCTIONS, ast.ClassDef)
VALUES = (ast.Assign, ast.AnnAssign)
# Decorators that change nothing but what they stand above.
_HARMLESS = frozenset(
    (
        *("abstractmethod", "cache", "cached_property", "classmethod", "contextmanager", "asynccontextmanager"),
        *("dataclass", "deprecated", "final", "getter", "inference_mode", "lru_cache", "no_grad", "overload"),
        *("override", "property", "runtime_checkable", "setter", "staticmethod", "total_ordering", "wraps"),
    )
)


def names_read(node: ast.AST) -> Iterator[str]:
    """Yield the names that are read when a statement runs, without those that functions read when they are called."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(node, (*FUNCTIONS, ast.Lambda)):
            continue
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            if isinstance(part, ast.AST):
                yield from names_read(part)


def bound_within(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds which is neither a definition nor an assignment."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id
        elif isinstance(part, NAMED):
            yield part.name
        elif isinstance(part, IMPORTS):
            for alias in part.names:
                yield bound_name(part, alias)


def acts(node: ast.stmt) -> bool:
    """Return whether other modules may find something different once a statement has run."""
    return _changes(node) and not _only_binds(node)


def _changes(node: ast.stmt) -> bool:
    """Return whether a statement may change something besides the names it binds, or holds others that may."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, VALUES):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return not all(isinstance(one, ast.Name) for one in targets)
    return not isinstance(node, (*NAMED, *IMPORTS))


def _only_binds(node: ast.stmt) -> bool:
    """Return whether a compound statement binds names on a condition, and does nothing more."""
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.stmt)]
    if isinstance(node, ast.Try):
        for handler in node.handlers:
            parts += handler.body
    working = [part for part in parts if not isinstance(part, (ast.Pass, ast.Raise))]
    return bool(parts) and not any(map(acts, working))


def touched(node: ast.stmt, *, within: str) -> Iterator[str]:
    """Yield the names of what a statement may change, in the body of a module or, with its name, of a class."""
    if _changes(node):
        yield from names_read(node)
    if isinstance(node, NAMED):
        for decorator in node.decorator_list:
            if _called(decorator) not in _HARMLESS:
                yield from names_read(decorator)
    if isinstance(node, ast.ClassDef):
        for keyword in node.keywords:
            yield from names_read(keyword)
    if within and isinstance(node, VALUES):
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                yield from names_read(part.func)


def _called(decorator: ast.expr) -> str:
    """Return the last part of a decorator's name."""
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return named.attr if isinstance(named, ast.Attribute) else named.id if isinstance(named, ast.Name) else ""
