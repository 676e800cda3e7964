"""Statement diff: syntax before and after → the statements that run differently, with their conditions."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from npu_overlays.model.definitions import FUNCTIONS

# A handler is no statement, but what it does is one thing.
Unit = ast.stmt | ast.ExceptHandler


@dataclass(frozen=True, kw_only=True)
class CodeStatement:
    """One simple statement, or the header of a compound one."""

    around: tuple[str, ...]  # what it stands in, outermost first; under another condition it does something else
    text: str  # it, in one way of writing
    node: Unit = field(compare=False)  # its syntax
    # Those parts of it that are its own, and not of a statement inside it
    parts: tuple[ast.AST, ...] = field(compare=False)


def as_text(node: ast.AST) -> str:
    """Return syntax in a canonical form; if it is nested too deeply for Python's stack, its position."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return f"line {getattr(node, 'lineno', 0)}"


def difference(
    before: Iterable[ast.stmt], after: Iterable[ast.stmt]
) -> tuple[tuple[CodeStatement, ...], tuple[CodeStatement, ...]]:
    """Return the statements that are only after, and those only before; a moved statement is no difference."""
    old, new = list(statements(before)), list(statements(after))
    return tuple(_without(new, old)), tuple(_without(old, new))


def statements(nodes: Iterable[ast.stmt], around: tuple[str, ...] = ()) -> Iterator[CodeStatement]:
    """Yield some statements and all nested ones, without bare strings such as docstrings."""
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        head, parts = _head(node)
        yield CodeStatement(around=around, text=head, node=node, parts=parts)
        above = node.name if isinstance(node, (*FUNCTIONS, ast.ClassDef)) else head
        for condition, block in _blocks(node, above):
            yield from statements(block, (*around, condition))
        for handler in getattr(node, "handlers", []):
            yield CodeStatement(around=around, text=as_text(handler), node=handler, parts=())
            caught = as_text(handler.type) if handler.type else ""
            yield from statements(handler.body, (*around, f"except {caught}"))


def _without(listed: list[CodeStatement], others: list[CodeStatement]) -> Iterator[CodeStatement]:
    left = Counter(others)
    for one in listed:
        if left[one]:
            left[one] -= 1
        else:
            yield one


def _head(node: ast.stmt) -> tuple[str, tuple[ast.AST, ...]]:
    """Return the header of a compound statement, or a simple one in full, as text and as syntax."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return _head_of_definition(node)
    own = tuple(
        child
        for child in ast.iter_child_nodes(node)
        if not isinstance(child, (ast.stmt, ast.ExceptHandler)) and type(child).__name__ != "match_case"
    )
    if not any(hasattr(node, name) for name in ("body", "cases")):
        return as_text(node), (node,)
    return f"{type(node).__name__} {', '.join(map(as_text, own))}", own


def _head_of_definition(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> tuple[str, tuple[ast.AST, ...]]:
    if isinstance(node, ast.ClassDef):
        own: list[ast.AST] = [*node.decorator_list, *node.bases, *(one.value for one in node.keywords)]
        return f"class {node.name} {', '.join(map(as_text, own))}", tuple(own)
    defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    decorators = " ".join(map(as_text, node.decorator_list))
    return f"{decorators} def {node.name}({as_text(node.args)})", (*node.decorator_list, *defaults)


def _blocks(node: ast.stmt, head: str) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Yield the nested statements of one, with their condition."""
    for name in ("body", "orelse", "finalbody"):
        yield f"{head} {name}", getattr(node, name, [])
    for case in getattr(node, "cases", []):
        guard = f" if {as_text(case.guard)}" if case.guard else ""
        yield f"{head} case {as_text(case.pattern)}{guard}", case.body
