"""Parsed text: Python source in UTF-8 → its syntax, scopes and definitions, computed once for all who hold it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cached_property, lru_cache
from weakref import WeakValueDictionary

from npu_overlays.model.definitions import Definition, definitions_of
from npu_overlays.model.exports import Surface, looks_dynamic, may_import_all, surface_of, typing_only
from npu_overlays.model.lazy_packages import looks_lazy
from npu_overlays.model.scope_reader import read_scopes
from npu_overlays.model.scopes import Scopes
from npu_overlays.model.syntax import line_starts, nodes_of, statements_of, syntax_tree

# A stage without a model asks again about the texts that it read last.
_KEPT = 256
# By that statement a function binds names of its module.
_GLOBAL = re.compile(rb"(?:\A|[\r\n;:])[ \t\f]*global\b")


class ParsedText:
    """One text; callers must not change what it gives them.

    Raises:
        SyntaxError: this Python cannot parse it.
        ValueError: likewise.
        RecursionError: it is nested too deeply.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.tree = syntax_tree(content)

    @cached_property
    def lines(self) -> list[bytes]:
        """Its lines, with their ends."""
        return self.content.splitlines(keepends=True)

    @cached_property
    def starts(self) -> list[int]:
        """The byte at which each line begins, and the one after the last line."""
        return line_starts(self.lines)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Its whole syntax, as `nodes_of` lists it."""
        return nodes_of(self.tree)

    @cached_property
    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        """Its imports, in functions too."""
        return [node for node in statements_of(self.tree) if isinstance(node, (ast.Import, ast.ImportFrom))]

    @cached_property
    def scopes(self) -> Scopes:
        """The bindings and reads of every name."""
        return read_scopes(self.tree)

    @cached_property
    def outer_scopes(self) -> Scopes:
        """The same as far as the module and its classes are concerned, which takes a fraction of the time.

        What a function reads may be missing, and what it binds for itself.
        """
        return self.scopes_in(lambda _: False)

    def scopes_in(self, is_wanted: Callable[[ast.AST], bool]) -> Scopes:
        """Return the same with what wanted functions read, and what they bind for themselves."""
        if "scopes" in self.__dict__ or (b"global" in self.content and _GLOBAL.search(self.content)):
            return self.scopes
        found = read_scopes(self.tree, is_wanted)
        self.__dict__.setdefault("outer_scopes", found)  # which it has as well
        return found

    @cached_property
    def surface(self) -> Surface:
        """The names that other modules can import from it."""
        return surface_of(self.tree, self.outer_scopes, self.content)

    @cached_property
    def may_import_all(self) -> bool:
        """Whether it may have a star import; False is certain."""
        return may_import_all(self.content)

    @cached_property
    def looks_lazy(self) -> bool:
        """Whether it may be a package that imports on demand."""
        return looks_lazy(self.content)

    @cached_property
    def looks_dynamic(self) -> bool:
        """Whether it may have names that it does not bind."""
        return looks_dynamic(self.content)

    @cached_property
    def typing_only(self) -> frozenset[ast.stmt]:
        """The statements of a module and its classes that only type checkers see."""
        return frozenset(typing_only(self.tree.body) if b"TYPE_CHECKING" in self.content else ())

    @cached_property
    def definitions(self) -> dict[str, list[Definition]]:
        """Every definition by qualified name, several if a name is bound several times."""
        found: dict[str, list[Definition]] = {}
        for definition in definitions_of(self.tree):
            found.setdefault(definition.name, []).append(definition)
        return found


# The model of a tree holds the texts of its modules, so no stage parses one of them again.
_IN_USE: WeakValueDictionary[bytes, ParsedText] = WeakValueDictionary()


@lru_cache(maxsize=_KEPT)
def parsed_text(content: bytes) -> ParsedText:
    """Return a text, parsed before if somebody holds it; raises as `ParsedText` does."""
    return _IN_USE.get(content) or _IN_USE.setdefault(content, ParsedText(content))
