"""Symbols: what a Python module defines, where in its bytes, and under which name."""

from __future__ import annotations

import ast
import codecs
import difflib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from npu_overlays.errors import MergeError, Problem

SymbolKind = Literal["function", "class", "attribute", "import"]


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One statement that binds a name in a module or class body.

    Args:
        name: qualified name, ``Class.method``.
        kind: what the statement is.
        node: the statement.
        parent: qualified name of the class around it, empty at module level.
    """

    name: str
    kind: SymbolKind
    node: ast.stmt
    parent: str

    @property
    def first_line(self) -> int:
        """The 1-based line on which the statement starts, its decorators included."""
        decorators: list[ast.expr] = getattr(self.node, "decorator_list", [])
        return min([self.node.lineno, *(decorator.lineno for decorator in decorators)])


class Module:
    """Parsed source of one module, addressed by symbol and by byte offset.

    Args:
        path: repository path, for messages.
        content: the file's bytes: UTF-8, with or without a byte order mark, any line ending.

    Raises:
        MergeError: when the bytes are not UTF-8 Python.
    """

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.bom = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
        self.content = content[len(self.bom) :]
        self.tree = _parse(path, self.content)
        self.newline = "\r\n" if b"\r\n" in self.content else "\n"
        self._lines = self.content.splitlines(keepends=True)
        self._starts = _offsets(self._lines)

    @cached_property
    def definitions(self) -> dict[str, list[Definition]]:
        """Every definition by qualified name; more than one where a name is bound more than once."""
        found: dict[str, list[Definition]] = {}
        for definition in _walk(self.tree.body, ""):
            found.setdefault(definition.name, []).append(definition)
        return found

    def offset(self, line: int, column: int = 0) -> int:
        """Return the byte offset of a 1-based line and a 0-based UTF-8 column, as `ast` counts them."""
        return self._starts[line - 1] + column

    def line_end(self, line: int) -> int:
        """Return the byte offset behind a 1-based line, its line end included."""
        return self._starts[line]

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the byte offsets at which a node starts (without decorators) and ends."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        """Return the source text of a node, without decorators."""
        start, end = self.span(node)
        return self.content[start:end].decode()

    def lines(self, first: int, last: int) -> str:
        r"""Return the text of 1-based lines `first` to `last`, with line ends as ``\n``."""
        return b"".join(self._lines[first - 1 : last]).decode().replace("\r\n", "\n")

    def indentation(self, node: ast.stmt) -> str:
        """Return the white space in front of a statement."""
        line = self._lines[node.lineno - 1].decode()
        return line[: len(line) - len(line.lstrip())]

    def nearest(self, name: str) -> str:
        """Return the defined name most like `name`, or an empty text."""
        names = list(self.definitions)
        same_leaf = [known for known in names if known.rpartition(".")[2] == name.rpartition(".")[2]]
        close = difflib.get_close_matches(name, names, n=1, cutoff=0.6) or same_leaf[:1]
        return close[0] if close else ""


def _parse(path: str, content: bytes) -> ast.Module:
    try:
        content.decode("utf-8")
        with warnings.catch_warnings():
            # Upstream's invalid escape sequences are upstream's business.
            warnings.simplefilter("ignore")
            return ast.parse(content)
    except UnicodeDecodeError as error:
        what, fix = f"not UTF-8 ({error.reason} at byte {error.start})", "change this file by a patch under patches/"
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        what, fix = f"not valid Python: {getattr(error, 'msg', error)}" + (f" (line {line})" if line else ""), ""
    raise MergeError(Problem(where=path, what=what, fix=fix))


def _offsets(lines: Sequence[bytes]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    return starts


def _walk(body: Sequence[ast.stmt], parent: str) -> Iterator[Definition]:
    for node in body:
        for kind, name in _bindings(node):
            yield Definition(name=f"{parent}.{name}" if parent else name, kind=kind, node=node, parent=parent)
        if isinstance(node, ast.ClassDef):
            yield from _walk(node.body, f"{parent}.{node.name}" if parent else node.name)
        for block in blocks(node):
            yield from _walk(block, parent)


def blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the statement lists inside `node` that bind names in the scope `node` itself is in."""
    if isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)) or type(node).__name__ == "TryStar":
        for field in ("body", "orelse", "finalbody"):
            yield getattr(node, field, [])
        for handler in getattr(node, "handlers", []):
            yield handler.body


def _bindings(node: ast.stmt) -> Iterator[tuple[SymbolKind, str]]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield "function", node.name
    elif isinstance(node, ast.ClassDef):
        yield "class", node.name
    elif isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "__future__"):
        yield from (("import", bound_name(node, alias)) for alias in node.names)
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            names = (name for name in ast.walk(target) if isinstance(name, ast.Name))
            yield from (("attribute", name.id) for name in names if isinstance(name.ctx, ast.Store))


def bound_name(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """Return the name an import binds: ``import a.b`` binds ``a``."""
    return alias.asname or (alias.name.partition(".")[0] if isinstance(node, ast.Import) else alias.name)
