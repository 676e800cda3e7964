"""Module imports: module's bytes → the imports it runs whatever happens, without parsing what stands behind the last.

They stand near the top, and to parse a whole module for them takes twenty times as long.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npu_overlays.syntax.encodings import as_utf8
from npu_overlays.syntax.parsing import parsed

# Wherever a statement at a module's own level can begin: more places than it does, for instance inside of strings.
_BEGINNING = re.compile(rb"(?:(?:\A|[\r\n])\f*|;[ \t\f\\\r\n]*)(?:from|import)\b")
_LINE_END = re.compile(rb"\r\n?|\n|\Z")


def module_imports(content: bytes) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports among a module's own statements; raises as `parsed` does."""
    content = as_utf8(content)
    if not _BEGINNING.search(content):
        return []
    tree = _head(content) or parsed(content)
    return [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]


def _head(content: bytes) -> ast.Module | None:
    """Return what stands up to the last import, parsed; None where that is not known to be a part of its own.

    Python reads from the front, so lines that it can parse by themselves are the same statements with more behind them.
    """
    for end in _ends(content):
        try:
            return parsed(content[:end])
        except SyntaxError:  # perhaps it goes on in the next lines, perhaps it is within a string
            continue
    return None


def _ends(content: bytes) -> Iterator[int]:
    """Yield where the last statement that may be an import may end: with its line, or behind its parentheses."""
    last = 0
    for found in _BEGINNING.finditer(content):
        last = found.end()
    for start in (last, content.find(b")", last)):
        if start >= 0 and (match := _LINE_END.search(content, start)):
            yield match.end()
