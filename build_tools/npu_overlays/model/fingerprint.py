"""Fingerprints of syntax: equal for equal code on every supported Python version.

White space, comments and quoting do not count; neither do docstrings, so that
an upstream edit of documentation breaks no contract.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable
from typing import Any

# Fields that differ between Python versions or say nothing about meaning.
_IGNORED = frozenset({"type_comment", "kind", "type_ignores"})
_LONG = 60


def dump(node: ast.AST, *, docstrings: bool = True) -> str:
    """Return a canonical text of a syntax tree, independent of positions and of the Python version.

    Empty and absent fields are left out because versions disagree on which
    fields a node has; constants are written in ASCII because versions disagree
    on which characters are printable.
    """
    parts: list[str] = []
    _dump(node, parts, docstrings=docstrings)
    return "".join(parts)


def _dump(value: object, parts: list[str], *, docstrings: bool) -> None:
    if isinstance(value, ast.AST):
        parts.append(type(value).__name__ + "(")
        for name in value._fields:
            content = _nonempty(value.values) if isinstance(value, ast.JoinedStr) else getattr(value, name, None)
            if name in _IGNORED or content is None or content == []:
                continue
            if name == "body" and not docstrings:
                content = without_docstring(value, content)
            parts.append(name + "=")
            _dump(content, parts, docstrings=docstrings)
            parts.append(",")
        # A constant None is a value, not an absent field.
        parts.append("None)" if isinstance(value, ast.Constant) and value.value is None else ")")
    elif isinstance(value, list):
        parts.append("[")
        for item in value:
            _dump(item, parts, docstrings=docstrings)
            parts.append(",")
        parts.append("]")
    else:
        parts.append(f"{type(value).__name__}:{value!a}")


def _nonempty(parts: list[ast.expr]) -> list[ast.expr]:
    """Return the parts of an f-string without the empty texts that Python 3.12 adds."""
    return [part for part in parts if not (isinstance(part, ast.Constant) and part.value == "")]


def without_docstring(owner: ast.AST, body: object) -> object:
    """Return the body of a module, class or function without its docstring; any other `body` as it is."""
    if not isinstance(owner, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return body
    statements: list[ast.stmt] = owner.body
    return statements[1:] if ast.get_docstring(owner, clean=False) is not None else statements


def fingerprint(node: ast.AST) -> str:
    """Return the fingerprint of a piece of syntax, 16 hex digits; docstrings do not count."""
    return _digest(dump(node, docstrings=False))


def fingerprint_of_all(nodes: Iterable[ast.AST]) -> str:
    """Return the fingerprint of pieces of syntax in order; empty for no piece."""
    texts = [dump(node, docstrings=False) for node in nodes]
    return _digest("\n".join(texts)) if texts else ""


def brief(node: ast.AST) -> str:
    """Return an expression as readable text, equal for equal code on every Python; a long one becomes a digest."""
    words = _WORDS.get(type(node))
    text = words(node) if words else ""
    return text if text and len(text) <= _LONG else f"<{_digest(dump(node))[:8]}>"


def _call(node: Any) -> str:
    named = [f"{one.arg}={brief(one.value)}" if one.arg else f"**{brief(one.value)}" for one in node.keywords]
    return f"{brief(node.func)}({', '.join([*map(brief, node.args), *named])})"


# The expressions that are shown; each function takes a node of its type.
_WORDS: dict[type[ast.AST], Callable[[Any], str]] = {
    ast.Name: lambda node: str(node.id),
    ast.Constant: lambda node: "..." if node.value is ... else f"{node.value!a}",
    ast.Attribute: lambda node: f"{brief(node.value)}.{node.attr}",
    ast.Call: _call,
    ast.Subscript: lambda node: f"{brief(node.value)}[{brief(node.slice)}]",
    ast.Starred: lambda node: f"*{brief(node.value)}",
    ast.Tuple: lambda node: f"({', '.join(map(brief, node.elts))},)",
    ast.List: lambda node: f"[{', '.join(map(brief, node.elts))}]",
    ast.UnaryOp: lambda node: f"-{brief(node.operand)}" if isinstance(node.op, ast.USub) else "",
}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
