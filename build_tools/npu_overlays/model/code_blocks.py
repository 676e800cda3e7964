"""Texts: blocks of Python source → the same blocks indented or renamed, or the names in them.

Lines that begin inside a string literal are content and never change.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from npu_overlays.model.definitions import FunctionNode, first_line
from npu_overlays.model.module import Module
from npu_overlays.model.splices import Splice, splice
from npu_overlays.model.tokens import continuation_lines, significant

# Each find and replacement is asked several times, one file after the other; one file can have a thousand.
_KEPT = 4096


def lines_of(text: str) -> list[str]:
    r"""Return the lines of `text`, ends kept; only ``\n`` ends a line, unlike in `str.splitlines`."""
    return [line for line in text.replace("\n", "\n\0").split("\0") if line]


def reindent(text: str, *, old: str, new: str) -> str:
    """Return a block of statements moved from indentation `old` to `new`."""
    kept = continuation_lines(text)
    return "".join(
        line if number in kept or not line.strip() else new + line.removeprefix(old)
        for number, line in enumerate(lines_of(text))
    )


def dedented(text: str) -> str:
    """Return a block of code without the indentation all its lines share, and without blank lines around it."""
    lines = lines_of(text)
    filled = [number for number, line in enumerate(lines) if line.strip()]
    block = "".join(lines[filled[0] : filled[-1] + 1]).removesuffix("\n") if filled else ""
    kept = continuation_lines(block)
    code = [line for number, line in enumerate(lines_of(block)) if number not in kept and line.strip()]
    margins = sorted(line[: len(line) - len(line.lstrip())] for line in code)
    shared = next((margin for margin in margins[:1] if all(line.startswith(margin) for line in code)), "")
    return reindent(block, old=shared, new="")


def definition_text(module: Module, node: FunctionNode | ast.ClassDef, mark: ast.Call) -> str:
    """Return a definition's text at column 0, without its mark and what is written above that."""
    start = first_line(node)
    before = module.lines(start, mark.lineno - 1) if mark.lineno > start else ""
    text = before + module.lines((mark.end_lineno or mark.lineno) + 1, node.end_lineno or node.lineno)
    head = len(text) - len(re.sub(r"\A(?:[ \t\f]*(?:#.*)?\n)+", "", text))
    return reindent(naming_no_encoding(text[:head]) + text[head:], old=module.indentation(node), new="")


def naming_no_encoding(comment: str) -> str:
    """Return a comment in a form in which Python does not read `coding: x` as the encoding of the file or the text."""
    return re.sub(r"(?<=coding)(?=[:=])", " ", comment)


def value_text(module: Module, node: ast.expr) -> str:
    """Return the text of a value as it can stand behind ``NAME =``."""
    text = module.text(node).replace("\r\n", "\n")
    try:
        same = ast.dump(ast.parse(f"NAME = {text}").body[0].value) == ast.dump(node)  # type: ignore[attr-defined]  # an Assign
    except SyntaxError:
        same = False
    return text if same else f"({text})"


def renamed(text: str, name: str) -> str:
    """Return a definition's text under the given name (one shared definition can serve differently named targets).

    What decorates it by its own name, as ``@value.setter``, does so by the given one.
    """
    module = Module("", text.encode())
    node = module.tree.body[0]
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or node.name == name:
        return text
    called = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    bases = (one.value for one in called if isinstance(one, ast.Attribute))
    own = [module.span(one) for one in bases if isinstance(one, ast.Name) and one.id == node.name]
    splices = [Splice(start=start, end=end, text=name, where="") for start, end in (*own, module.name_span(node))]
    return splice(module.content, splices, newline="\n").decode()


@lru_cache(maxsize=_KEPT)
def names_in(text: str) -> frozenset[str]:
    """Return the names that a definition, an expression or a fragment of code refers to, also inside f-strings.

    Of a fragment that does not parse by itself, such as ``if x:``, every word counts that no dot stands before.
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
    return frozenset(node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))
