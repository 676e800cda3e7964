"""Module: its bytes → its definitions by name, and the lines and bytes of its nodes."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import accumulate, islice

from npu_overlays.errors import MergeError, Problem, nearest
from npu_overlays.model.definitions import Definition, FunctionNode, branches_of, first_line
from npu_overlays.model.encodings import as_declared, as_names, as_utf8, encoding_of
from npu_overlays.model.parsed_text import ParsedText, parsed_text
from npu_overlays.model.scopes import Binding, Scopes
from npu_overlays.model.syntax import statement_lists
from npu_overlays.model.tokens import tokens

_BY_PATCH = "change this file by a patch under patches/"
_ASCII = re.compile(rb"[\x00-\x7f]+")
_SPACE = rb"(?:[ \t\f]|\\\r?\n)+"
_NAME = re.compile(rb"(?:(?:async" + _SPACE + rb")?def|class)" + _SPACE + rb"(?P<name>[^\s\\(:\[]+)")


class Module:
    """The parsed source of one module, addressed by symbol, by line and by byte offset.

    Args:
        path: repository path, for messages.
        content: the file's bytes, in the encoding that it declares, with or without a byte order mark, any line ending.

    Raises:
        MergeError: when the bytes are not Python in that encoding.
    """

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.file = content
        self.content = as_utf8(content)
        self.parsed = _parse(path, content, self.content)
        self.tree = self.parsed.tree
        self.newline = "\r\n" if b"\r\n" in self.content else "\n"

    @cached_property
    def encoding(self) -> str:
        """The encoding that the file declares; other characters cannot be written to it."""
        return encoding_of(self.file)

    def offset(self, line: int, column: int = 0) -> int:
        """Return the byte offset of a 1-based line and a 0-based UTF-8 column, as `ast` counts them."""
        return self.parsed.starts[line - 1] + column

    def line_end(self, line: int) -> int:
        """Return the byte offset behind a 1-based line, its line end included."""
        return self.parsed.starts[line]

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the byte offsets at which a node starts (without decorators) and ends."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        """Return the source text of a node, without decorators."""
        start, end = self.span(node)
        return self.content[start:end].decode()

    def head(self, node: ast.AST) -> str:
        """Return the header of a compound statement, a handler or a ``case``, up to the colon before its block."""
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
        start, end = self.whole_span(node)
        return self.content[start:end]

    def whole_span(self, node: ast.stmt) -> tuple[int, int]:
        """Return the byte offsets at which a statement starts, its decorators included, and ends."""
        start, end = self.span(node)
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        return min([start, *(self.span(one)[0] for one in decorators)]), end

    def lines(self, first: int, last: int) -> str:
        r"""Return the text of 1-based lines `first` to `last`, with line ends as ``\n``."""
        return b"".join(self.parsed.lines[first - 1 : last]).decode().replace("\r\n", "\n").replace("\r", "\n")

    def indentation(self, node: ast.stmt) -> str:
        """Return the indentation of a statement's line."""
        return self.line_indentation(node.lineno)

    def line_indentation(self, line: int) -> str:
        """Return the indentation of a 1-based line."""
        text = self.parsed.lines[line - 1].decode()
        return text[: len(text) - len(text.lstrip())]

    def begins_line(self, node: ast.stmt) -> bool:
        """Return whether a statement is the first on its line."""
        return not self.content[self.offset(node.lineno) : self.span(node)[0]].strip()

    def goes_on(self, line: int) -> bool:
        """Return whether a 1-based line ends in a backslash, which joins the next one to it."""
        return self.parsed.lines[line - 1].rstrip(b"\r\n").endswith(b"\\")

    @cached_property
    def _as_names(self) -> bytes:
        return as_names(self.content)

    def may_name(self, name: str, node: ast.AST | None = None) -> bool:
        """Return whether its text, or a node's, mentions a name, perhaps in a comment; False is certain."""
        return name.encode() in (as_names(self.text(node).encode()) if node else self._as_names)

    @cached_property
    def _has_other_letters(self) -> bool:
        """Whether it has characters that Python takes for ASCII letters or digits in names."""
        return re.search(rb"\w", as_names(_ASCII.sub(b" ", self.content))) is not None

    @property
    def definitions(self) -> dict[str, list[Definition]]:
        """Every definition by qualified name, several if a name is bound several times."""
        return self.parsed.definitions

    @property
    def nodes(self) -> list[ast.AST]:
        """Its whole syntax, as `nodes_of` lists it."""
        return self.parsed.nodes

    @property
    def scopes(self) -> Scopes:
        """The bindings and reads of every name."""
        return self.parsed.scopes

    @property
    def outer_scopes(self) -> Scopes:
        """The same as far as the module and its classes are concerned."""
        return self.parsed.outer_scopes

    def scopes_around(self, spans: Collection[tuple[int, int]]) -> Scopes:
        """Return the same as far as the module, its classes and the functions around some byte ranges are concerned."""
        ordered = sorted(spans)
        starts, ends = [start for start, _ in ordered], [*accumulate((end for _, end in ordered), max, initial=0)]

        def is_around(node: ast.AST) -> bool:
            first, last = self.span(node)
            return first < ends[bisect_left(starts, last)]  # of the ranges that begin before the node ends

        return self.parsed.scopes_in(is_around)

    def scopes_naming(self, names: Iterable[str]) -> Scopes:
        """Return the same as far as the module, its classes and the functions that mention some names are concerned."""
        words = "|".join(map(re.escape, names)).encode()
        if not words.isascii() or self._has_other_letters:  # which may spell a name otherwise
            return self.scopes
        word = re.compile(words)
        return self.scopes_around([match.span() for match in word.finditer(self.content)])

    @cached_property
    def _names(self) -> dict[ast.stmt, set[str]]:
        names: dict[ast.stmt, set[str]] = {}
        for known in self.definitions.values():
            for definition in known:
                names.setdefault(definition.node, set()).add(definition.name)
        return names

    def _place(self, node: ast.stmt) -> tuple[ast.AST, list[ast.stmt], int]:
        """Return a statement's owner, its list of statements, and its number there."""
        owner: ast.AST = self.tree
        statements = self.tree.body
        while True:
            number = bisect_right(statements, _position(node), key=_position) - 1
            if statements[number] is node:
                return owner, statements, number
            # Of the lists that begin in front of it, the last.
            inner: list[tuple[tuple[int, int], ast.AST, list[ast.stmt]]] = []
            for _, one, body in statement_lists(statements[number]):
                if _position(body[0]) <= _position(node):
                    inner.append((_position(body[0]), one, body))
            _, owner, statements = max(inner, key=lambda place: place[0])

    def other_bindings(self, symbol: str) -> list[Binding]:
        """Return the bindings of a symbol, certain or possible, that are no definitions.

        These are ``for``, ``with``, ``:=``, ``case``, ``except``, ``del``, ``global`` in a function, and for a
        module-level name a star import further down. Branches that no import runs do not count.
        """
        known = self.definitions.get(symbol, [])
        found = [binding for binding in self.outer_scopes.bound(symbol) if binding.how != "definition"]
        if known and "." not in symbol:
            found += [star for star in self.outer_scopes.stars if star.line > known[0].node.lineno]
        return [one for one in found if not one.typing_only and one.line not in self._idle_lines]

    @cached_property
    def _idle_lines(self) -> frozenset[int]:
        """The lines of the module's own branches that never run when it is imported."""
        lines: set[int] = set()
        for node in self.tree.body:
            for branch, body in branches_of(node):
                if body and branch.runs is False:
                    lines.update(range(body[0].lineno, (body[-1].end_lineno or 0) + 1))
        return frozenset(lines)

    def at_run_time(self, name: str) -> list[Definition]:
        """Return the definitions of a name at run time; if there are none, those for type checkers."""
        known = self.definitions.get(name, [])
        return [one for one in known if one.node not in self.parsed.typing_only] or known

    def is_single(self, name: str) -> bool:
        """Return whether a class, and each class around it, has one definition at run time."""
        return all(len(self.at_run_time(one)) == 1 for one in accumulate(name.split("."), "{}.{}".format))

    def remains(self, definition: Definition) -> bool:
        """Return whether no class around a definition may lose its name further down."""
        for owner in islice(definition.around, 1, None):
            is_last = self.at_run_time(owner.name)[-1] is owner and owner.is_certain
            if not is_last and not self.is_single(owner.name):
                return False
        return True

    def names(self, node: ast.stmt) -> set[str]:
        """Return the qualified names a statement binds in its module or class."""
        return self._names.get(node, set())

    def siblings(self, node: ast.stmt) -> list[ast.stmt]:
        """Return the list of statements that contains `node`."""
        return self._place(node)[1]

    def name_span(self, node: FunctionNode | ast.ClassDef) -> tuple[int, int]:
        """Return the byte offsets of the name in a definition's header."""
        match = _NAME.match(self.content, self.span(node)[0])
        assert match  # noqa: S101  # the parser found the definition there
        return match.span("name")

    def comment_line(self, node: ast.stmt) -> int:
        """Return the 1-based line before which a comment about `node` can be inserted.

        It is the node's first line, decorators included, unless an earlier statement ends on that line.
        """
        while True:
            owner, statements, number = self._place(node)
            # Where an earlier statement reaches into that line, the one right before does too.
            if number and self._reaches(statements[number - 1], node):
                node = statements[number - 1]
            elif isinstance(owner, ast.stmt) and not self.begins_line(node):
                node = owner
            else:
                return first_line(node)

    def logical_lines(self) -> Iterator[tuple[list[ast.stmt], int]]:
        """Yield the module's own statements, grouped by shared lines, and the byte offset after each group."""
        group: list[ast.stmt] = []
        for number, node in enumerate(self.tree.body):
            group.append(node)
            following = self.tree.body[number + 1 : number + 2]
            if not following or not self._reaches(node, following[0]):
                line = node.end_lineno or node.lineno
                while self.goes_on(line) and line < len(self.parsed.lines):
                    line += 1
                yield group, self.line_end(line)
                group = []

    def _reaches(self, earlier: ast.stmt, later: ast.stmt) -> bool:
        end = earlier.end_lineno or earlier.lineno
        return end + self.goes_on(end) >= first_line(later)

    def nearest(self, name: str) -> str:
        """Return the defined name that is most similar to `name`, or an empty text."""
        if close := nearest(name, self.definitions):
            return close
        leaf = name.rpartition(".")[2]
        return next((known for known in self.definitions if known.rpartition(".")[2] == leaf), "")


def parsed_module(path: str, content: bytes | None) -> Module | None:
    """Return a Python module; None for no file, for another file, and for one that this Python cannot parse."""
    if content is None or not path.endswith(".py"):
        return None
    try:
        return Module(path, content)
    except MergeError:
        return None


def _position(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _parse(path: str, content: bytes, text: bytes) -> ParsedText:
    encoding = "utf-8"
    try:
        encoding = encoding_of(content)
        content.decode(encoding)
        if text is content or as_declared(text, content) == content:
            return parsed_text(text)
        line, what, fix = 1, f"not the same bytes when its text is written in {encoding} again", _BY_PATCH
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        called = "UTF-8" if encoding == "utf-8" else encoding
        what, fix = f"not {called} ({error.reason} at byte {error.start})", _BY_PATCH
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        what, fix = f"not valid Python: {getattr(error, 'msg', error)}", ""
    raise MergeError(Problem(where=f"{path}:{line}", what=what, fix=fix))
