"""Symbols: module's bytes → what it defines, under which name, and where in those bytes."""

from __future__ import annotations

import ast
import difflib
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from npu_overlays.model.definitions import Definition, FunctionNode, branches_of, definitions_of, first_line
from npu_overlays.model.module_text import ModuleText
from npu_overlays.model.scope_reader import read_scopes
from npu_overlays.model.scopes import Binding, Scopes

_SPACE = rb"(?:[ \t\f]|\\\r?\n)+"
_NAME = re.compile(rb"(?:(?:async" + _SPACE + rb")?def|class)" + _SPACE + rb"(?P<name>[^\s\\(:\[]+)")


class Module(ModuleText):
    """Parsed source of one module, addressed by symbol and by byte offset."""

    @cached_property
    def definitions(self) -> dict[str, list[Definition]]:
        """Every definition by qualified name; more than one where a name is bound more than once."""
        found: dict[str, list[Definition]] = {}
        for definition in definitions_of(self.tree):
            found.setdefault(definition.name, []).append(definition)
        return found

    @cached_property
    def scopes(self) -> Scopes:
        """What binds and reads every name."""
        return read_scopes(self.tree)

    @cached_property
    def _names(self) -> dict[ast.stmt, set[str]]:
        names: dict[ast.stmt, set[str]] = {}
        for name, known in self.definitions.items():
            for definition in known:
                names.setdefault(definition.node, set()).add(name)
        return names

    def _place(self, node: ast.stmt) -> tuple[ast.AST, list[ast.stmt], int]:
        """Return what holds a statement, the list of statements it stands in, and its number there."""
        owner: ast.AST = self.tree
        statements = self.tree.body
        while True:
            number = bisect_right(statements, _position(node), key=_position) - 1
            if statements[number] is node:
                return owner, statements, number
            inner = ((one, body) for one, body in _bodies(statements[number]) if body)
            owner, statements = max(
                (place for place in inner if _position(place[1][0]) <= _position(node)),
                key=lambda place: _position(place[1][0]),
            )

    def other_bindings(self, symbol: str) -> list[Binding]:
        """Return what binds a symbol without being a definition of it, or may do so.

        That is ``for``, ``with``, ``:=``, ``case``, ``except``, ``del``, ``global`` in a function, and for what is
        defined at module level a star import further down; but nothing that stands where no import comes by.
        """
        known = self.definitions.get(symbol, [])
        line = known[0].node.lineno if known and "." not in symbol else None
        stars = [star for star in self.scopes.stars if line and star.line > line]
        found = [*(binding for binding in self.scopes.bound(symbol) if binding.how != "definition"), *stars]
        return [one for one in found if not one.typing_only and one.line not in self._idle_lines]

    @cached_property
    def _idle_lines(self) -> frozenset[int]:
        """The lines of the module's own branches that never run when it is imported."""
        bodies = (
            body for node in self.tree.body for branch, body in branches_of(node) if body and branch.runs is False
        )
        return frozenset(line for body in bodies for line in range(body[0].lineno, (body[-1].end_lineno or 0) + 1))

    def names(self, node: ast.stmt) -> set[str]:
        """Return the qualified names a statement binds in the module or class it stands in."""
        return self._names.get(node, set())

    def siblings(self, node: ast.stmt) -> list[ast.stmt]:
        """Return the list of statements `node` stands in."""
        return self._place(node)[1]

    def name_span(self, node: FunctionNode | ast.ClassDef) -> tuple[int, int]:
        """Return the byte offsets of the name in a definition's header."""
        match = _NAME.match(self.content, self.span(node)[0])
        assert match  # noqa: S101  # the parser found the definition there
        return match.span("name")

    def comment_line(self, node: ast.stmt) -> int:
        """Return the 1-based line in front of which a comment line about `node` can be inserted.

        It is the node's own first line, decorators included, unless an earlier statement reaches into that line.
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
        """Yield the module's own statements, those that share lines together, and the byte offset behind them."""
        group: list[ast.stmt] = []
        for number, node in enumerate(self.tree.body):
            group.append(node)
            following = self.tree.body[number + 1 : number + 2]
            if not following or not self._reaches(node, following[0]):
                yield group, self.end_of_lines(node)
                group = []

    def _reaches(self, earlier: ast.stmt, later: ast.stmt) -> bool:
        end = earlier.end_lineno or earlier.lineno
        return end + self.goes_on(end) >= first_line(later)

    def nearest(self, name: str) -> str:
        """Return the defined name most like `name`, or an empty text."""
        names = list(self.definitions)
        same_leaf = [known for known in names if known.rpartition(".")[2] == name.rpartition(".")[2]]
        close = difflib.get_close_matches(name, names, n=1, cutoff=0.6) or same_leaf[:1]
        return close[0] if close else ""


def _position(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _bodies(node: ast.stmt) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
    """Yield every list of statements directly inside a statement, and what holds it."""
    for owner in (node, *getattr(node, "handlers", []), *getattr(node, "cases", [])):
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(owner, field, None)
            if isinstance(statements, list):
                yield owner, statements
