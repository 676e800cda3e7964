"""Passages: text of one definition → its tokens, with the nodes and the block at each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from npu_overlays.model.definitions import first_line
from npu_overlays.model.module import Module
from npu_overlays.model.syntax import statement_lists
from npu_overlays.model.token_layout import TokenLayout, layout_of

# What makes an indented text a module, and puts any other one below the lines that can name an encoding.
_AROUND, _ABOVE = b"if 1:\n", b"\n\n"
_LISTS = (
    *(ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Call),
    *(ast.arguments, ast.ClassDef, ast.Delete, ast.Import, ast.ImportFrom),
)


@dataclass(frozen=True, kw_only=True)
class Block:
    """One list of statements."""

    head: int | None  # the token its ``if``, ``else``, ``except``, … begins with; None for the passage itself
    owner: int  # the token the whole statement begins with, all its branches included, and no decorator
    kind: str  # what statement that is; empty for the block that every statement of its kind has
    starts: tuple[int, ...]  # the first token of each statement, decorators included
    ends: tuple[int, ...]  # for each statement the token behind it


class Passage:
    """A definition's text, parsed by itself.

    Args:
        path: of the module, for messages.
        content: the bytes of its lines, or of the statement alone if it shares its line.

    Raises:
        MergeError: if it is not valid Python.
    """

    def __init__(self, path: str, content: bytes) -> None:
        around = _AROUND if content[:1].isspace() else _ABOVE
        self.shift = len(around)
        self._skipped = len(layout_of(around.decode()).tokens)
        self._module = Module(path, around + content)
        self.layout = layout_of(self._module.content.decode())
        self._starts, self._ends = self.layout.starts, self.layout.ends

    def occurrences(self, find: TokenLayout) -> list[int]:
        """Return the tokens at which a find begins, line by line and block by block."""
        return [at for at in self.layout.occurrences(find) if at >= self._skipped]

    def sequences(self, find: TokenLayout) -> list[int]:
        """Return the tokens at which the tokens of a find begin, in any layout."""
        return [at for at in self.layout.sequences(find) if at >= self._skipped]

    def bytes_at(self, first: int, behind: int) -> tuple[int, int]:
        """Return the bytes of tokens `first` to `behind`, the latter excluded."""
        spans = self.layout.spans
        return spans[first][0] - self.shift, spans[behind - 1][1] - self.shift

    def surroundings(self, start: int, end: int) -> tuple[str, str]:
        """Return the text from the beginning of the line to byte `start`, and from `end` to the end of its line."""
        source = self._module.content
        line = source.rfind(b"\n", 0, start + self.shift) + 1
        line_end = source.find(b"\n", end + self.shift) + 1 or len(source)
        return source[line : start + self.shift].decode(), source[end + self.shift : line_end].decode()

    @cached_property
    def _nodes_by_place(self) -> dict[tuple[int, int], list[tuple[ast.AST, ast.AST]]]:
        """The nodes by their tokens, each with its parent."""
        found: dict[tuple[int, int], list[tuple[ast.AST, ast.AST]]] = {}
        for node, parent in _nodes(self._module.tree):
            if hasattr(node, "lineno"):
                start, end = self._module.span(node)
                place = (self._starts.get(start, -1), self._ends.get(end, -1))
                found.setdefault(place, []).append((node, parent))
                if isinstance(node, ast.BoolOp):
                    for run in self._runs(node, *place):
                        found.setdefault(run, []).append((node, parent))
        return found

    def _runs(self, node: ast.BoolOp, first: int, behind: int) -> Iterator[tuple[int, int]]:
        """Yield the runs of neighbouring operands in ``a and b and c``, which parentheses could enclose."""
        starts, ends = [first], []
        for operand in node.values[:-1]:
            operator = self._ends[self._module.span(operand)[1]]
            while self.layout.texts[operator] == ")":
                operator += 1
            ends.append(operator)
            starts.append(operator + 1)
        for start in starts:
            for end in [*ends, behind]:
                if end > start:
                    yield start, end

    def is_node(self, first: int, behind: int) -> bool:
        """Return whether one node has exactly these tokens."""
        return (first, behind) in self._nodes_by_place

    def is_named(self, first: int, behind: int) -> bool:
        """Return whether these tokens are one node, or one named argument or parameter."""
        if self.is_node(first, behind):
            return True
        depths = self.layout.depths
        for (start, _), nodes in self._nodes_by_place.items():
            is_beside = first <= start < behind and depths[start] == depths[first]
            if is_beside and any(isinstance(node, (ast.keyword, ast.arg)) for node, _ in nodes):
                return True
        return False

    def is_statement(self, first: int, behind: int) -> bool:
        """Return whether these tokens are whole statements."""
        return any(first in block.starts and behind in block.ends[block.starts.index(first) :] for block in self.blocks)

    def side_by_side(self, places: list[tuple[int, int]]) -> bool:
        """Return whether each of these token ranges is a node, all in one list if there are several."""
        shared = {parent for _, parent in self._nodes_by_place.get(places[0], [])}
        if len(places) == 1:
            return bool(shared)
        for place in places[1:]:
            shared &= {parent for _, parent in self._nodes_by_place.get(place, [])}
        return any(isinstance(parent, _LISTS) for parent in shared)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Every list of statements in the passage."""
        return tuple(self._blocks(self._module.tree, {}))

    def _blocks(self, node: ast.AST, elifs: dict[ast.AST, int]) -> Iterator[Block]:
        owner = elifs.get(node, self._starts[self._module.span(node)[0]] if isinstance(node, ast.stmt) else 0)
        for field, holder, statements in statement_lists(node):
            starts = tuple(map(self._first, statements))
            ends = tuple(self._ends[self._module.span(one)[1]] for one in statements)
            head = self._head(starts[0])
            kind = "" if field == "body" and holder is node else type(node).__name__
            yield Block(head=head, owner=owner, kind=kind, starts=starts, ends=ends)
            for one, start in zip(statements, starts, strict=True):
                inner: dict[ast.AST, int] = {one: owner} if self.layout.texts[start] == "elif" else {}
                yield from self._blocks(one, inner)

    def _head(self, first: int) -> int | None:
        """Return the first token of a block's header line; an `elif` is its own header."""
        if self.layout.texts[first] == "elif":
            return first
        return self.layout.heads[self.layout.lines[first - 1]] if first else None

    def _first(self, node: ast.AST) -> int:
        """Return a statement's first token, decorators included."""
        assert isinstance(node, ast.stmt)  # noqa: S101  # only called for statements
        line = first_line(node)
        if line == node.lineno:
            return self._starts[self._module.span(node)[0]]
        offset = self._module.offset(line)
        return min(number for start, number in self._starts.items() if start >= offset)


def _nodes(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield every node with its parent, but nothing inside f-strings, where positions are unreliable."""
    for child in ast.iter_child_nodes(tree):
        yield child, tree
        if not isinstance(child, ast.JoinedStr):
            yield from _nodes(child)
