"""Selectors: a symbol and a module → the definition it means, among several of that name; and back.

If a name is defined more than once, ``[…]`` after it selects a definition: by a decorator
(``Class.value[@value.setter]``), the condition around it (``f[if sys.version_info >= (3, 11)]``), its header (``_[def
_(arg: int)]``), or its number in the text (``f[#2]``). Several selectors, separated by ``;``, must all match.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import cached_property

from npu_overlays.model.definitions import FUNCTIONS, Branch, Definition, bound_name
from npu_overlays.model.module import Module
from npu_overlays.model.syntax import called, is_name, last_name, nodes_of
from npu_overlays.model.tokens import significant

_SEPARATOR = ";"
_LONGEST = 100
_LATER = {"orelse": "else", "finalbody": "finally"}


def with_selector(name: str, texts: Iterable[str]) -> str:
    """Return a name with selectors, or without any the name itself."""
    listed = f"{_SEPARATOR} ".join(" ".join(text.split()) for text in texts)
    return f"{name}[{listed}]" if listed else name


def plain(symbol: str) -> str:
    """Return a symbol's qualified name, without its selectors."""
    return symbol.partition("[")[0]


def selector(symbol: str) -> tuple[str, ...]:
    """Return a symbol's selectors."""
    texts = symbol.partition("[")[2].removesuffix("]").split(_SEPARATOR)
    return tuple(filter(None, map(str.strip, texts)))


def owner_of(symbol: str) -> str:
    """Return the qualified name of the class around a symbol, empty at module level."""
    return plain(symbol).rpartition(".")[0]


def leaf_of(symbol: str) -> str:
    """Return the last part of a symbol's name."""
    return plain(symbol).rpartition(".")[2]


def accessor(node: ast.AST) -> str:
    """Return ``@value.setter`` or the like if it decorates a function `value`; empty for any other node."""
    for decorator in map(called, getattr(node, "decorator_list", [])):
        if isinstance(decorator, ast.Attribute) and is_name(decorator.value, getattr(node, "name", "")):
            return f"@{ast.unparse(decorator)}"
    return ""


def selecting_decorators(node: ast.AST, marker: ast.AST | None = None) -> list[str]:
    """Return the decorators that select a function: ``@value.setter``; of ``_``, all but a marker."""
    if getattr(node, "name", "") == "_":
        return [f"@{ast.unparse(one)}" for one in getattr(node, "decorator_list", []) if one is not marker]
    return list(filter(None, [accessor(node)]))


def chosen(module: Module, symbol: str) -> list[Definition]:
    """Return the definitions that a symbol can mean; exactly one if it is clear.

    Unless selected, definitions that an import never runs do not count: stubs under ``@overload``, and those under ``if
    TYPE_CHECKING:`` or ``if __name__ == "__main__":``. Nor does ``f = cached(f)``, which passes on the definition
    above. Of a property, the getter counts.
    """
    return _Choice(module, plain(symbol)).of(selector(symbol))


def symbol_of(module: Module, definition: Definition) -> str:
    """Return the symbol that means a definition of a module."""
    return _Choice(module, definition.name).symbol(definition)


def symbols(module: Module) -> list[str]:
    """Return the symbol of every definition of a module, grouped by name."""
    found: list[str] = []
    for name in module.definitions:
        found += symbols_of(module, name)
    return found


def symbols_of(module: Module, name: str) -> list[str]:
    """Return the symbol of each definition of a name, with as few selectors as needed."""
    choice = _Choice(module, name)
    return [choice.symbol(one) for one in choice.known]


class _Choice:
    """The definitions of one name of a module."""

    def __init__(self, module: Module, name: str) -> None:
        self._module, self._name = module, name
        self.known = module.definitions.get(name, [])

    @cached_property
    def _running(self) -> list[Definition]:
        return [one for one in self.known if _runs(self._module, one, self.known)] or self.known

    @cached_property
    def _labels(self) -> list[list[str]]:
        """The possible selectors of each definition, its number last."""
        return [[*labels(self._module, one), f"#{number}"] for number, one in enumerate(self.known, 1)]

    @cached_property
    def _words(self) -> dict[ast.stmt, frozenset[tuple[str, ...]]]:
        numbered = zip(self.known, self._labels, strict=True)
        return {one.node: frozenset(map(_words, texts)) for one, texts in numbered}

    def of(self, wanted: Sequence[str]) -> list[Definition]:
        """Return the definitions that match all selectors."""
        if len(self.known) == 1 and not wanted:
            return self.known
        texts = frozenset(map(_words, wanted))
        found: list[Definition] = []
        for candidates in (self._running, self.known):
            found = found or [one for one in candidates if texts <= self._words[one.node]]
        if any(text.startswith(("@", "#")) for text in wanted):
            return found
        return [one for one in found if not accessor(one.node)] or found

    def symbol(self, definition: Definition) -> str:
        """Return the symbol of one of the definitions."""
        if len(self.known) == 1:
            return self._name
        *leading_texts, number = self._labels[self.known.index(definition)]
        own = list(filter(None, [accessor(definition.node)]))
        selectors: list[Sequence[str]] = [(), own]
        for text in leading_texts:
            if len(text) < _LONGEST and _SEPARATOR not in text:
                selectors.append(list(dict.fromkeys([text, *own])))
        for texts in selectors:
            if self.of(texts) == [definition]:
                return with_selector(self._name, texts)
        return with_selector(self._name, (number,))


def leading(module: Module, definition: Definition) -> list[str]:
    """Return the selectors of a definition; if it needs none, those a reader knows it by."""
    if texts := selector(symbol_of(module, definition)):
        return list(texts)
    shown = [text for text in labels(module, definition) if not text.startswith("@")]
    return [*shown, f"#{module.definitions[definition.name].index(definition) + 1}"][:1]


def labels(module: Module, definition: Definition) -> list[str]:
    """Return a definition's possible selectors: its decorators, conditions, innermost first, and its header."""
    node = definition.node
    found = [f"@{module.text(one)}" for one in getattr(node, "decorator_list", [])]
    for branch in definition.all_branches:
        found += filter(None, [_condition(module, branch)])
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        found.append(module.head(node))
    return [" ".join(text.split()) for text in found]


def _words(text: str) -> tuple[str, ...]:
    """Return a text in comparable form: white space, a colon at the end and ``elif`` for ``if`` do not count."""
    if text.startswith("#"):
        return (text,)
    words = [token.text for token in significant(text)]
    if words[:1] == ["elif"]:
        words[0] = "if"
    return tuple(words[:-1] if words[-1:] == [":"] else words)


def _condition(module: Module, branch: Branch) -> str:
    """Return the header of a branch as written; empty for the ``else`` that an ``elif`` replaces."""
    if branch.field in _LATER:
        following = getattr(branch.node, branch.field)[0]
        goes_on = isinstance(following, ast.If) and module.head(following).startswith("elif")
        return "" if goes_on else _LATER[branch.field]
    return module.head(branch.head)


def _runs(module: Module, definition: Definition, known: list[Definition]) -> bool:
    """Return whether a definition binds its name to a value of its own when the module is imported."""
    if any(branch.runs is False for branch in definition.all_branches) or _hands_on(definition, known):
        return False
    return not is_overload_stub(module, definition)


def is_overload_stub(module: Module, definition: Definition) -> bool:
    """Return whether a definition is a stub under ``@overload``."""
    decorators: list[ast.expr] = getattr(definition.node, "decorator_list", [])
    return any(_is_overload(module, one) for one in decorators)


def _is_overload(module: Module, decorator: ast.expr) -> bool:
    """Return whether a decorator is ``typing.overload``, under any imported name."""
    if last_name(decorator) == "overload":
        return True
    if not isinstance(decorator, ast.Name):
        return False
    for definition in module.definitions.get(decorator.id, []):
        if isinstance(definition.node, ast.ImportFrom):
            for alias in definition.node.names:
                if alias.name == "overload" and bound_name(definition.node, alias) == decorator.id:
                    return True
    return False


def _hands_on(definition: Definition, known: list[Definition]) -> bool:
    """Return whether a definition is ``f = cached(f)``, below the `f` that it uses."""
    node = definition.node
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    if value is None or not any(one.node.lineno < node.lineno and one.kind in ("function", "class") for one in known):
        return False
    for part in nodes_of(value):
        is_read = isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load)
        if is_read and ast.unparse(part) == definition.leaf:
            return True
    return False
