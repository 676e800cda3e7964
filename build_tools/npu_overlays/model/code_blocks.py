"""Code blocks: blocks of Python source → the same blocks indented or renamed, or the names in them.

Lines that begin inside a string literal are content and never change.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from npu_overlays.model.definitions import FUNCTIONS, FunctionNode, first_line
from npu_overlays.model.module import Module
from npu_overlays.model.splices import Splice, splice
from npu_overlays.model.syntax import all_of, called, is_name
from npu_overlays.model.tokens import continuation_lines, significant

# Each find and replacement is asked several times, one file after the other; one file can have a thousand.
_KEPT = 4096


def lines_of(text: str) -> list[str]:
    r"""Return the lines of `text`, ends kept; only ``\n`` ends a line, unlike in `str.splitlines`."""
    return [line for line in text.replace("\n", "\n\0").split("\0") if line]


def reindent(text: str, *, old: str, new: str) -> str:
    """Return a block of statements moved from indentation `old` to `new`."""
    kept = continuation_lines(text)
    moved: list[str] = []
    for number, line in enumerate(lines_of(text)):
        moved.append(line if number in kept or not line.strip() else new + line.removeprefix(old))
    return "".join(moved)


def dedented(text: str) -> str:
    """Return a block of code without the indentation all its lines share, and without blank lines around it."""
    lines = lines_of(text)
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    block = "".join(lines).removesuffix("\n")
    kept = continuation_lines(block)
    code = [line for number, line in enumerate(lines_of(block)) if number not in kept and line.strip()]
    shared = min((line[: len(line) - len(line.lstrip())] for line in code), default="")
    return reindent(block, old=shared if all(line.startswith(shared) for line in code) else "", new="")


def definition_text(module: Module, node: FunctionNode | ast.ClassDef, mark: ast.Call) -> str:
    """Return a definition's text at column 0, without its marker and anything above that."""
    start = first_line(node)
    before = module.lines(start, mark.lineno - 1) if mark.lineno > start else ""
    text = before + module.lines((mark.end_lineno or mark.lineno) + 1, node.end_lineno or node.lineno)
    head = len(text) - len(re.sub(r"\A(?:[ \t\f]*(?:#.*)?\n)+", "", text))
    return reindent(naming_no_encoding(text[:head]) + text[head:], old=module.indentation(node), new="")


def naming_no_encoding(comment: str) -> str:
    """Return a comment that Python does not read as a declaration of the encoding (`coding: x`)."""
    return re.sub(r"(?<=coding)(?=[:=])", " ", comment)


def value_text(module: Module, node: ast.expr) -> str:
    """Return the text of a value, ready to follow ``NAME =``."""
    text = module.text(node).replace("\r\n", "\n")
    try:
        same = ast.dump(ast.parse(f"NAME = {text}").body[0].value) == ast.dump(node)  # type: ignore[attr-defined]  # an Assign
    except SyntaxError:
        same = False
    return text if same else f"({text})"


def renamed(text: str, name: str) -> str:
    """Return a definition's text under the given name (one shared definition can serve differently named targets).

    A decorator with its own name, as ``@value.setter``, is renamed too.
    """
    module = Module("", text.encode())
    node = module.tree.body[0]
    if not isinstance(node, (*FUNCTIONS, ast.ClassDef)) or node.name == name:
        return text
    places = [module.name_span(node)]
    for decorator in map(called, node.decorator_list):
        if isinstance(decorator, ast.Attribute) and is_name(decorator.value, node.name):
            places.append(module.span(decorator.value))
    splices = [Splice(start=start, end=end, text=name, where="") for start, end in places]
    return splice(module.content, splices, newline="\n").decode()


@lru_cache(maxsize=_KEPT)
def names_in(text: str) -> frozenset[str]:
    """Return the names that a definition, an expression or a fragment of code refers to, also inside f-strings.

    In a fragment that does not parse by itself, such as ``if x:``, every word without a dot before it counts.
    """
    try:
        return _names_loaded_in(text)
    except SyntaxError:
        found: set[str] = set()
        before = ""
        for token in significant(text):
            if token.kind == "name" and before != ".":
                found.add(token.text)
            elif token.kind == "string" and "f" in token.text.partition(token.text[-1])[0].lower():
                found |= _names_loaded_in(token.text)
            before = token.text
        return frozenset(found)


def _names_loaded_in(text: str) -> frozenset[str]:
    return frozenset(node.id for node in all_of(ast.parse(text), ast.Name))
