"""Syntax: a module's bytes → its syntax tree, the same one for every stage; a node → what is in it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)

# The modules of an overlay and what it makes of them; a stage that looks at more parses some of them again.
_KEPT = 256
# What an operation says is short, asked about several times, and one module can have a thousand.
_SHORT = 2_000
_SHORT_KEPT = 4096
# Fields that hold no node, whatever the type of node, or one that says no more than its type: contexts, operators.
_PLAIN = frozenset(
    {"arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "module", "op", "ops"}
    | {"type_comment"}
)


def syntax_tree(content: bytes) -> ast.Module:
    """Return the syntax tree of a module, given as UTF-8 whatever it declares, which nobody may change.

    Raises:
        SyntaxError: where this Python cannot parse it.
        ValueError: likewise.
        RecursionError: where it is nested too deeply.
    """
    return _short(content) if len(content) <= _SHORT else _module(content)


def _tree(content: bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # upstream's invalid escape sequences are upstream's business
        return ast.parse(content.decode())


_module = lru_cache(maxsize=_KEPT)(_tree)
_short = lru_cache(maxsize=_SHORT_KEPT)(_tree)


def line_starts(lines: Iterable[bytes]) -> list[int]:
    """Return the byte at which each line begins, and the one behind the last; line ends are part of the lines."""
    return list(accumulate(map(len, lines), initial=0))


class _InnerFields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each type of node in which there may be nodes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        names = () if kind is ast.Constant else kind._fields
        return self.setdefault(kind, tuple(name for name in names if name not in _PLAIN))


INNER_FIELDS = _InnerFields()


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """Return a node and all below it, as `ast.walk` yields them in twice the time, but no context or operator."""
    found = [tree]
    for node in found:
        found += children(node)
    return found


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes directly below one, in order, as `ast.iter_child_nodes` does, but no context or operator."""
    found: list[ast.AST] = []
    known = node.__dict__
    for name in INNER_FIELDS[type(node)]:
        value = known.get(name)
        if not value:  # as most fields are
            continue
        if isinstance(value, list):
            found += [one for one in value if isinstance(one, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def all_of(tree: ast.AST, kind: type[Node] | tuple[type[Node], ...]) -> list[Node]:
    """Return the nodes of a type, or of several, among a node and all below it."""
    return [node for node in nodes_of(tree) if isinstance(node, kind)]


def is_name(node: ast.AST | None, name: str) -> bool:
    """Return whether a node is a certain name."""
    return isinstance(node, ast.Name) and node.id == name


def called(node: ast.expr) -> ast.expr:
    """Return what is called: of the decorator ``@cache(maxsize=1)`` `cache`; what is no call, as it is."""
    return node.func if isinstance(node, ast.Call) else node


def call_arguments(call: ast.Call) -> list[ast.expr]:
    """Return what a call gives, by position and then by name."""
    return [*call.args, *(one.value for one in call.keywords)]


def names_import(node: ast.AST, name: str) -> bool:
    """Return whether a node is an import that names something, by what it is called there or here."""
    aliases = node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else []
    return any(name in (alias.asname, alias.name) for alias in aliases)


def last_name(node: ast.AST) -> str:
    """Return the last name of ``a.b.c``, or a name itself; empty for any other node."""
    return node.attr if isinstance(node, ast.Attribute) else str(getattr(node, "id", ""))


def text_of(node: ast.AST | None) -> str:
    """Return the text that a node is a literal of; empty where it is none."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def elements(node: ast.expr) -> list[ast.expr]:
    """Return what stands in a list, a tuple or a set that is written out; any other expression by itself."""
    return node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else [node]


def targets(node: ast.AST) -> list[ast.expr]:
    """Return what an assignment gives a value; nothing for any other node."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else []
