"""Definitions: syntax tree → the statements in module and class bodies that bind names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from npu_overlays.model.syntax import last_name, targets

SymbolKind = Literal["function", "class", "attribute", "import"]
FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Blocks whose statements run whenever the block is reached.
UNCONDITIONAL = frozenset({"With.body", "AsyncWith.body", "Try.finalbody"})


@dataclass(frozen=True, kw_only=True)
class Branch:
    """One list of statements inside an ``if``, a ``try``, …."""

    node: ast.stmt
    field: str  # of the node, that holds the list
    head: ast.AST  # the handler or the case that the list belongs to; otherwise the node itself

    def __str__(self) -> str:
        return f"{type(self.node).__name__}.{self.field}"

    @property
    def runs(self) -> bool | None:
        """Whether this branch runs when the module is imported; None if that depends."""
        if str(self) in UNCONDITIONAL:
            return True
        met = _is_met(self.node.test) if isinstance(self.node, ast.If) else None
        return None if met is None else met == (self.field == "body")


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One statement that binds a name in a module or class body."""

    name: str  # qualified, ``Class.method``
    kind: SymbolKind
    node: ast.stmt
    owner: Definition | None = None  # the class around it, None at module level
    branches: tuple[Branch, ...] = ()  # those around it in the module or class it stands in, outermost first

    @property
    def parent(self) -> str:
        """Qualified name of the class around it, empty at module level."""
        return self.owner.name if self.owner else ""

    @property
    def branch(self) -> tuple[str, ...]:
        """The branches around it as comparable texts: ``("If.orelse",)``."""
        return tuple(map(str, self.branches))

    @property
    def leaf(self) -> str:
        """Its name in the class or module around it; of a module's ``Class.method = …`` the whole target."""
        return self.name.removeprefix(f"{self.parent}.")

    @property
    def is_certain(self) -> bool:
        """Whether it is bound unconditionally; ``Class.method = …`` counts in any branch."""
        return all(branch.runs for branch in self.branches) or "." in self.leaf

    @property
    def first_line(self) -> int:
        """The statement's first 1-based line, decorators included."""
        return first_line(self.node)

    @property
    def around(self) -> Iterator[Definition]:
        """The definition itself, then the classes around it, innermost first."""
        yield self
        if self.owner:
            yield from self.owner.around

    @property
    def all_branches(self) -> list[Branch]:
        """Its branches and those of the classes around it, innermost first."""
        found: list[Branch] = []
        for one in self.around:
            found += reversed(one.branches)
        return found


def first_line(node: ast.stmt) -> int:
    """Return a statement's first 1-based line, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def definitions_of(tree: ast.Module) -> Iterator[Definition]:
    """Yield every definition of a module in order, also those in classes and branches."""
    return _walk(tree.body, None, ())


def _walk(body: Sequence[ast.stmt], owner: Definition | None, branches: tuple[Branch, ...]) -> Iterator[Definition]:
    for node in body:
        for kind, name in _bindings(node):
            full = f"{owner.name}.{name}" if owner else name
            definition = Definition(name=full, kind=kind, node=node, owner=owner, branches=branches)
            yield definition
            if isinstance(node, ast.ClassDef):
                yield from _walk(node.body, definition, ())
        for branch, block in branches_of(node):
            yield from _walk(block, owner, (*branches, branch))


def blocks(node: ast.stmt) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Yield, by field, the statement lists inside `node` that bind names in `node`'s own scope."""
    for branch, block in branches_of(node):
        yield branch.field, block


def branches_of(node: ast.stmt) -> Iterator[tuple[Branch, list[ast.stmt]]]:
    """Yield the branches of `node` that bind names in `node`'s own scope."""
    if isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)) or type(node).__name__ == "TryStar":
        for field in ("body", "orelse", "finalbody"):
            yield Branch(node=node, field=field, head=node), getattr(node, field, [])
        for handler in getattr(node, "handlers", []):
            yield Branch(node=node, field="handlers", head=handler), handler.body
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield Branch(node=node, field="cases", head=case), case.body


def methods(node: ast.ClassDef) -> list[FunctionNode]:
    """Return the functions among a class's own statements."""
    return [one for one in node.body if isinstance(one, FUNCTIONS)]


def _bindings(node: ast.stmt) -> Iterator[tuple[SymbolKind, str]]:
    if isinstance(node, FUNCTIONS):
        yield "function", node.name
    elif isinstance(node, ast.ClassDef):
        yield "class", node.name
    elif isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "__future__"):
        for alias in node.names:
            yield "import", bound_name(node, alias)
    else:
        for name in stored_names(node):
            yield "attribute", name


def stored_names(node: ast.stmt) -> Iterator[str]:
    """Yield the names an assignment binds, ``Class.method`` for a monkey patch; none for any other statement."""
    if type(node).__name__ == "TypeAlias":  # Python 3.12 knows it
        yield node.name.id  # type: ignore[attr-defined]  # likewise
    for target in targets(node):
        for part in ast.walk(target):
            if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Store):
                yield from dotted_names(part)


def dotted_names(node: ast.expr) -> Iterator[str]:
    """Yield the dotted name of a target that is a name or an attribute chain."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        for owner in dotted_names(node.value):
            yield f"{owner}.{node.attr}"


def is_typing_only(node: ast.If) -> bool:
    """Return whether the body of an ``if`` is for type checkers only."""
    return last_name(node.test) == "TYPE_CHECKING"


def _is_met(test: ast.expr) -> bool | None:
    """Return whether a condition holds when the module is imported; None if that depends.

    ``TYPE_CHECKING`` is false at run time, and no imported module is ``__main__``.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        met = _is_met(test.operand)
        return None if met is None else not met
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return False if False in map(_is_met, test.values) else None
    if last_name(test) == "TYPE_CHECKING":
        return False
    if isinstance(test, ast.Compare):
        sides = map(ast.unparse, [test.left, *test.comparators])
        if sorted(sides) == ["'__main__'", "__name__"]:
            return {ast.Eq: False, ast.NotEq: True}.get(type(test.ops[0]))
    return None


def bound_name(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """Return the name an import binds: ``import a.b`` binds ``a``."""
    return alias.asname or (alias.name.partition(".")[0] if isinstance(node, ast.Import) else alias.name)
