"""Statements: the syntax of a scope → what runs in it and the names it binds."""

from __future__ import annotations

import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def statements(body: list[ast.stmt], *, conditional: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield every statement that runs in this scope; what only type checkers read does not."""
    for node in body:
        yield node, conditional
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        only_typing = isinstance(node, ast.If) and dotted(node.test).rpartition(".")[2] == "TYPE_CHECKING"
        certain = conditional or not isinstance(node, ast.With)
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            if part == "body" and only_typing:
                continue
            for inner in getattr(node, part, ()):
                nested = [inner] if isinstance(inner, ast.stmt) else inner.body
                yield from statements(nested, conditional=certain)


def assigned(node: ast.stmt) -> Iterator[str]:
    """Yield the names a statement gives a value to."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        targets = [] if isinstance(node, ast.AnnAssign) and node.value is None else [node.target]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        targets = [item.optional_vars for item in node.items if item.optional_vars]
    for target in targets:
        yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    # `:=` binds too, wherever it stands in the statement.
    if not isinstance(node, (ast.If, ast.For, ast.While, ast.Try, ast.With)):
        yield from (
            one.target.id
            for one in ast.walk(node)
            if isinstance(one, ast.NamedExpr) and isinstance(one.target, ast.Name)
        )


def dotted(node: ast.expr) -> str:
    """Return the dotted name of a decorator or condition, calls stripped; ``?`` for anything else."""
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def mangled(name: str, owner: str) -> str:
    """Return the name a private attribute really has in its class."""
    private = owner.strip("_") and name.startswith("__") and not name.endswith("__")
    return f"_{owner.lstrip('_')}{name}" if private else name
