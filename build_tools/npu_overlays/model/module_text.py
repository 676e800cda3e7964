"""Module text: module's bytes → its syntax tree, and the lines and the bytes that its nodes stand on."""

from __future__ import annotations

import ast
from functools import cached_property

from npu_overlays.errors import MergeError, Problem
from npu_overlays.model.encodings import as_declared, as_utf8, encoding_of
from npu_overlays.model.parsing import line_starts, parsed
from npu_overlays.model.tokens import tokens

_BY_PATCH = "change this file by a patch under patches/"


class ModuleText:
    """Parsed source of one module, addressed by line and by byte offset.

    Args:
        path: repository path, for messages.
        content: the file's bytes: in the encoding that it declares, with or without a byte order mark, any line ending.

    Raises:
        MergeError: when the bytes are not Python in that encoding.
    """

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.file = content
        self.content = as_utf8(content)
        self.tree = _parse(path, content, self.content)
        self.newline = "\r\n" if b"\r\n" in self.content else "\n"
        self._lines = self.content.splitlines(keepends=True)
        self._starts = line_starts(self._lines)

    @cached_property
    def encoding(self) -> str:
        """The encoding that the file declares: what it does not have, cannot stand in it."""
        return encoding_of(self.file)

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

    def head(self, node: ast.AST) -> str:
        """Return the source of a compound statement, a handler or a ``case`` up to the colon in front of its block."""
        start = self.span(node.pattern if isinstance(node, ast.match_case) else node)[0]
        text = self.content[start : self.span(node.body[0])[0]].decode()  # type: ignore[attr-defined]  # all have one
        depth = 0
        for token in tokens(text):
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
            if token.text == ":" and depth == 0:
                text = text[: token.start]
                break
        return f"case {text}" if isinstance(node, ast.match_case) else text

    def whole_text(self, node: ast.stmt) -> bytes:
        """Return the source of a statement, its decorators included."""
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        start = min([self.span(node)[0], *(self.span(decorator)[0] for decorator in decorators)])
        return self.content[start : self.span(node)[1]]

    def lines(self, first: int, last: int) -> str:
        r"""Return the text of 1-based lines `first` to `last`, with line ends as ``\n``."""
        return b"".join(self._lines[first - 1 : last]).decode().replace("\r\n", "\n").replace("\r", "\n")

    def indentation(self, node: ast.stmt) -> str:
        """Return the white space in front of a statement's line."""
        return self.line_indentation(node.lineno)

    def line_indentation(self, line: int) -> str:
        """Return the white space in front of a 1-based line."""
        text = self._lines[line - 1].decode()
        return text[: len(text) - len(text.lstrip())]

    def begins_line(self, node: ast.stmt) -> bool:
        """Return whether nothing but white space stands before a statement on its line."""
        return not self.content[self.offset(node.lineno) : self.span(node)[0]].strip()

    def goes_on(self, line: int) -> bool:
        """Return whether a 1-based line ends in a backslash, so that the next one belongs to it."""
        return self._lines[line - 1].rstrip(b"\r\n").endswith(b"\\")

    def end_of_lines(self, node: ast.stmt) -> int:
        """Return the byte offset behind the lines a statement ends on, with those that a backslash adds."""
        line = node.end_lineno or node.lineno
        while self.goes_on(line) and line < len(self._lines):
            line += 1
        return self.line_end(line)


def _parse(path: str, content: bytes, text: bytes) -> ast.Module:
    encoding = "utf-8"
    try:
        encoding = encoding_of(content)
        content.decode(encoding)
        if as_declared(text, content) == content:
            return parsed(text)
        line, what, fix = 1, f"not the same bytes when its text is written in {encoding} again", _BY_PATCH
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        called = "UTF-8" if encoding == "utf-8" else encoding
        what, fix = f"not {called} ({error.reason} at byte {error.start})", _BY_PATCH
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        what, fix = f"not valid Python: {getattr(error, 'msg', error)}", ""
    raise MergeError(Problem(where=f"{path}:{line}", what=what, fix=fix))
