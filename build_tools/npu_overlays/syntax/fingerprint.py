"""Fingerprints of syntax: equal for equal code on every supported Python version.

White space, comments and quoting do not count; neither do docstrings, so that
an upstream edit of documentation breaks no contract.
"""

from __future__ import annotations

import ast
import hashlib

from npu_overlays.syntax.definitions import FunctionNode

# Fields that differ between Python versions or say nothing about meaning.
_IGNORED = frozenset({"type_comment", "kind", "type_ignores"})
_BINDING_DECORATORS = frozenset({"staticmethod", "classmethod", "property", "cached_property"})


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
    """Return the parts of an f-string or a format without the empty texts that Python 3.12 puts behind some."""
    return [part for part in parts if not (isinstance(part, ast.Constant) and part.value == "")]


def without_docstring(owner: ast.AST, body: object) -> object:
    """Return the body of a module, class or function without its docstring; any other `body` as it is."""
    if not isinstance(owner, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return body
    statements: list[ast.stmt] = owner.body
    return statements[1:] if ast.get_docstring(owner, clean=False) is not None else statements


def fingerprint(node: ast.AST) -> str:
    """Return the fingerprint of a definition, 16 hex digits: decorators, signature and body, no docstrings."""
    return _digest(dump(node, docstrings=False))


def signature_fingerprint(node: FunctionNode) -> str:
    """Return the fingerprint of how a function is called.

    Counts: parameter names, kinds and defaults, whether it is async, and
    decorators that decide what the first argument is. Annotations do not.
    """
    arguments = node.args
    shape = [
        "async" if isinstance(node, ast.AsyncFunctionDef) else "def",
        *(f"{kind} {name}" for kind, name in parameters(arguments)),
        *(dump(default) for default in arguments.defaults),
        *(dump(default) if default else "required" for default in arguments.kw_defaults),
        *sorted(_BINDING_DECORATORS.intersection(map(_decorator_name, node.decorator_list))),
    ]
    return _digest("\n".join(shape))


def parameters(arguments: ast.arguments) -> list[tuple[str, str]]:
    """Return (kind, name) of every parameter in order; kinds are ``/``, ``|``, ``*``, ``kw`` and ``**``."""
    listed = [("/", argument.arg) for argument in arguments.posonlyargs]
    listed += [("|", argument.arg) for argument in arguments.args]
    listed += [("*", arguments.vararg.arg)] if arguments.vararg else []
    listed += [("kw", argument.arg) for argument in arguments.kwonlyargs]
    listed += [("**", arguments.kwarg.arg)] if arguments.kwarg else []
    return listed


def _decorator_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
