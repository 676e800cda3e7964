"""Parsed modules: bytes → syntax, scopes, definitions and exports, each computed once."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from npu_overlays.errors import MergeError
from npu_overlays.model.encodings import as_utf8
from npu_overlays.model.exports import Surface, surface_of, typing_only
from npu_overlays.model.module import Module
from npu_overlays.model.parsed_text import ParsedText, parsed_text
from npu_overlays.model.scopes import Scopes
from npu_overlays.model.syntax import line_starts, syntax_tree

T = TypeVar("T")

# Wherever an import at a module's own level can begin: more places than it does, for instance inside of strings. What
# begins with one of a few characters is found in a fifth of the time, so a line end is put in front of the first line.
_BEGINNING = re.compile(rb"[\r\n;](?:(?<=;)[ \t\f\\\r\n]*|\f*)(?:from|import)\b")
_LINE_END = re.compile(rb"\r\n?|\n|\Z")


class ParsedModules:
    """The modules of one or several trees, upstream's and patched, by their content."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget all modules."""
        self._modules: dict[bytes, Module | None] = {}
        self._texts: dict[bytes, ParsedText | None] = {}
        self._surfaces: dict[bytes, Surface] = {}
        self._imports: dict[bytes, list[ast.Import | ast.ImportFrom]] = {}
        self._typing_only: dict[bytes, set[ast.stmt]] = {}

    def module(self, content: bytes) -> Module | None:
        """Return a module; None if it is not UTF-8 or this Python cannot parse it."""
        if content not in self._modules:
            try:
                self._modules[content] = Module("", content)
            except MergeError:
                self._modules[content] = None
        return self._modules[content]

    def text(self, content: bytes) -> ParsedText | None:
        """Return the syntax of a module, also if its bytes are not what it declares; None if Python cannot parse it."""
        module = self.module(content)
        if module is None and content not in self._texts:
            self._texts[content] = _tried(parsed_text, content)
        return module.parsed if module else self._texts[content]

    def tree(self, content: bytes) -> ast.Module | None:
        """Return the syntax tree of a module; None if this Python cannot parse it."""
        text = self.text(content)
        return text.tree if text else None

    def nodes(self, content: bytes) -> list[ast.AST]:
        """Return all syntax nodes of a module; nothing if this Python cannot parse it."""
        text = self.text(content)
        return text.nodes if text else []

    def never_run(self, module: Module) -> set[ast.stmt]:
        """Return the statements of a module and its classes that only type checkers see."""
        if module.content not in self._typing_only:
            marked = b"TYPE_CHECKING" in module.content
            self._typing_only[module.content] = set(typing_only(module.tree.body)) if marked else set()
        return self._typing_only[module.content]

    def offset(self, content: bytes, node: ast.AST) -> int:
        """Return the byte of a module at which a node begins, a byte order mark not counted."""
        module, line, column = self.module(content), getattr(node, "lineno", 1), int(getattr(node, "col_offset", 0))
        if module:
            return module.offset(line, column)
        return line_starts(as_utf8(content).splitlines(keepends=True))[line - 1] + column

    def imports(self, content: bytes) -> list[ast.Import | ast.ImportFrom]:
        """Return the unconditional imports of a module; none if this Python cannot parse it."""
        if content not in self._imports:
            module = self._modules.get(content)
            found = _imports_in(module.tree) if module else _tried(module_imports, content)
            self._imports[content] = found or []
        return self._imports[content]

    def surface(self, content: bytes) -> Surface:
        """Return a module's exports; nothing is certain if this Python cannot parse it."""
        if content not in self._surfaces:
            text = self.text(content)
            known = surface_of(text.tree, text.scopes, content) if text else Surface(dynamic=True)
            self._surfaces[content] = known
        return self._surfaces[content]

    def scopes(self, content: bytes) -> Scopes:
        """Return the scopes of a module; none if this Python cannot parse it."""
        text = self.text(content)
        return text.scopes if text else Scopes()


def _tried(read: Callable[[bytes], T], content: bytes) -> T | None:
    try:
        return read(as_utf8(content))
    except (SyntaxError, ValueError, RecursionError):
        return None


def module_imports(content: bytes) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports among a module's own statements; raises as `parsed` does.

    They come near the top; parsing the whole module takes twenty times as long.
    """
    content = as_utf8(content)
    if not _BEGINNING.search(b"\n" + content):
        return []
    return _imports_in(_head(content) or syntax_tree(content))


def _imports_in(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]


def _head(content: bytes) -> ast.Module | None:
    """Return the module up to its last import, parsed; None if that part may not end at a statement.

    Python reads from the front, so lines that parse by themselves are the same statements in the whole module.
    """
    for end in _ends(content):
        try:
            return syntax_tree(content[:end])
        except SyntaxError:  # it may continue in the next lines, or be inside a string
            continue
    return None


def _ends(content: bytes) -> Iterator[int]:
    """Yield the possible ends of the last statement that may be an import: its line, or its closing parenthesis."""
    last = 0
    for found in _BEGINNING.finditer(b"\n" + content):
        last = found.end() - 1
    for start in (last, content.find(b")", last)):
        if start >= 0 and (match := _LINE_END.search(content, start)):
            yield match.end()
