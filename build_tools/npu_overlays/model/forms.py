"""Forms: two definitions of a tree → how their forms differ, or that they share one.

Two functions or classes share a form if three things hold. Their syntax is equal, apart from the name of the class,
annotations, docstrings and decorators that keep a function's behaviour. The names in it mean the same, or definitions
that share a form, as do the methods of the object that the text calls. The attributes that are read get their values
from equal calls or tables.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from npu_overlays.model.attribute_chains import root_of
from npu_overlays.model.attribute_values import GivenValue
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.encodings import as_names, as_utf8
from npu_overlays.model.fingerprint import dump, without_docstring
from npu_overlays.model.free_names import FreeNames
from npu_overlays.model.selectors import leaf_of, owner_of
from npu_overlays.model.signatures import parameters, signature_text
from npu_overlays.model.symbol_lookup import ResolvedSymbol, SymbolLookup
from npu_overlays.model.symbols import Symbol, Target
from npu_overlays.model.syntax import called, last_name, nodes_of

# By these callers get at a function otherwise, or are given something else by it.
_CHANGING = frozenset(
    {"property", "cached_property", "staticmethod", "classmethod", "setter", "getter", "deleter"}
    | {"contextmanager", "asynccontextmanager"}
)
_ANNOTATIONS = {ast.arg: "annotation", ast.FunctionDef: "returns", ast.AsyncFunctionDef: "returns"}
_OWN = "<own>"
_SHOWN = 60


class Forms:
    """The forms of the definitions of one tree.

    Args:
        symbols: those of the tree.
    """

    def __init__(self, symbols: SymbolLookup) -> None:
        self._symbols = symbols
        self._resolver = symbols.classes.resolver
        # What is being compared: two definitions that lead back to themselves differ in nothing by that.
        self._open: set[tuple[Symbol, Symbol]] = set()
        self._compared: dict[Symbol, _Compared | None] = {}
        self._by_shape: dict[str, dict[tuple[object, ...], list[Symbol]]] = {}
        self._texts: dict[str, bytes] = {}
        self._alike: dict[tuple[Symbol, tuple[str, ...], tuple[str, ...]], tuple[Symbol, ...]] = {}

    def alike(self, model: Symbol, paths: Iterable[str], attributes: Iterable[str] = ()) -> tuple[Symbol, ...]:
        """Return the definitions in files that share a model's form; an answer is kept.

        Args:
            model: a function or a class of the tree.
            paths: of the files.
            attributes: attributes of ``self`` whose values must come from the same calls or tables.
        """
        asked = (model, tuple(paths), tuple(attributes))
        if asked not in self._alike:
            self._alike[asked] = tuple(self._found(*asked))
        return self._alike[asked]

    def _found(self, model: Symbol, paths: Iterable[str], attributes: Collection[str]) -> Iterator[Symbol]:
        nodes, compared = self._nodes(model), self._definition(model)
        if compared is None:
            return
        wanted = _shape(model, nodes[-1])
        for path in paths:
            # Most files lack a name of the model's, and need not be parsed.
            if not compared.words_are_in(self._text(path)):
                continue
            for other in self._shapes(path).get(wanted, ()):
                if self._has_text(other, compared) and not self.difference(model, other, attributes):
                    yield other

    def _text(self, path: str) -> bytes:
        """Return the content of a file as names are searched in it."""
        if path not in self._texts:
            self._texts[path] = as_names(as_utf8(self._symbols.modules.read(path)))
        return self._texts[path]

    def _has_text(self, symbol: Symbol, model: _Compared) -> bool:
        """Return whether a definition's syntax is a model's, which takes less time than to say how they differ."""
        module, nodes = self._symbols.module(symbol.path), self._nodes(symbol)
        if module is None or not nodes or not model.words_are_in(as_names(module.whole_text(nodes[-1]))):
            return False
        found = self._definition(symbol)
        return found is not None and found.text == model.text

    def difference(self, model: Symbol, other: Symbol, attributes: Collection[str] = ()) -> str:
        """Return how a definition's form differs from a model's, in words; empty if it does not."""
        pair = (model, other)
        if model == other or pair in self._open:
            return ""
        self._open.add(pair)
        try:
            return next(self._differences(model, other, attributes), "")
        finally:
            self._open.discard(pair)

    def _differences(self, model: Symbol, other: Symbol, attributes: Collection[str]) -> Iterator[str]:
        one, two = self._definition(model), self._definition(other)
        if one is None or two is None:
            yield "it is gone" if two is None else "the model is gone"
            return
        if one.text != two.text:
            yield from _syntactic_differences(one.node, two.node)
        names = zip(one.outer_names, two.outer_names, strict=False)  # of equal syntax there are as many
        own = one.own, two.own
        for here, there in dict.fromkeys(names):
            if (here, there) != own and not self._means_the_same(Symbol(model.path, here), Symbol(other.path, there)):
                yield f"`{there}` means something else there"
        for name in sorted({*attributes, *self._called_methods(model, other, one.attributes)}):
            if not self._is_given_alike(model, other, name):
                yield f"`self.{name}` gets its value otherwise"

    def _called_methods(self, model: Symbol, other: Symbol, names: Iterable[str]) -> Iterator[str]:
        """Yield the attributes that one of two classes defines as a method."""
        for name in names:
            members = (self._member(model, name), self._member(other, name))
            if any(member and member.nodes for member in members):
                yield name

    def _definition(self, symbol: Symbol) -> _Compared | None:
        """Return a function or class as forms compare it, or None."""
        if symbol not in self._compared:
            nodes = self._nodes(symbol)
            self._compared[symbol] = _compared(symbol, nodes[-1]) if nodes else None
        return self._compared[symbol]

    def _nodes(self, symbol: Symbol) -> list[ast.stmt]:
        """Return the functions and classes of a name."""
        module = self._symbols.module(symbol.path)
        known = module.definitions.get(symbol.name, []) if module else []
        return [one.node for one in known if isinstance(one.node, (*FUNCTIONS, ast.ClassDef))]

    def _shapes(self, path: str) -> Mapping[tuple[object, ...], list[Symbol]]:
        """Return the definitions of a file by their shapes."""
        if path not in self._by_shape:
            found = self._by_shape.setdefault(path, {})
            module = self._symbols.module(path)
            known = module.definitions if module else {}
            for name, definitions in known.items():
                symbol = Symbol(path, name)
                found.setdefault(_shape(symbol, definitions[-1].node), []).append(symbol)
        return self._by_shape[path]

    def _means_the_same(self, here: Symbol, there: Symbol) -> bool:
        """Return whether names of two modules mean the same."""
        one, other = self._meanings(here), self._meanings(there)
        if one == other or (here, there) in self._open:
            return True
        symbols = [*map(self._symbol, (one, other))]
        if symbols[0] is None or symbols[1] is None:
            return False
        values = [self._values(one) for one in symbols if one]
        if any(values):
            return values[0] == values[1]
        return not self.difference(symbols[0], symbols[1])

    def _meanings(self, symbol: Symbol) -> tuple[Target, ...]:
        return self._resolver.found(symbol.path, symbol.name, follow=False)

    def _symbol(self, meanings: tuple[Target, ...]) -> Symbol | None:
        return meanings[0] if len(meanings) == 1 and isinstance(meanings[0], Symbol) else None

    def _values(self, symbol: Symbol) -> list[str]:
        """Return the values assigned to a name; nothing if it names no value."""
        found = self._symbols.find(*symbol)
        return [dump(one.node) for one in found.values] if found else []

    def _is_given_alike(self, model: Symbol, other: Symbol, name: str) -> bool:
        """Return whether two classes set an attribute from equal calls or tables, or have an equal method."""
        one, two = self._member(model, name), self._member(other, name)
        if one is None or two is None:
            return one is two
        if one.origin == two.origin:
            return True
        if one.nodes or two.nodes:
            return bool(one.nodes and two.nodes) and not self.difference(one.origin, two.origin)
        givers = [_givers(one, owner_of(model.name)), _givers(two, owner_of(other.name))]
        if givers[0].keys() != givers[1].keys():
            return False
        roots = zip(givers[0].values(), givers[1].values(), strict=True)
        return all(self._means_the_same(Symbol(one.origin.path, a), Symbol(two.origin.path, b)) for a, b in roots if a)

    def _member(self, symbol: Symbol, name: str) -> ResolvedSymbol | None:
        owner = self._symbols.find(symbol.path, owner_of(symbol.name)) if owner_of(symbol.name) else None
        return self._symbols.member(owner, name) if owner else None


@dataclass(frozen=True, kw_only=True)
class _Compared:
    """A definition without the parts that a form ignores.

    Args:
        node: its syntax, its class's own name replaced.
        own: that name.
        text: of the syntax; forms are equal if these are.
        outer_names: names in it that refer to something outside it, in the order of its syntax.
        attributes: of a method, the attributes of its object that its text names.
    """

    node: ast.stmt
    own: str
    text: str
    outer_names: tuple[str, ...]
    attributes: frozenset[str]

    @cached_property
    def words(self) -> tuple[bytes, ...]:
        """The names that every definition with this text spells, the longest first: these are the rarest."""
        found: set[str] = set()
        for node in nodes_of(self.node):
            if not isinstance(node, ast.Constant):
                found.update(value for _, value in ast.iter_fields(node) if isinstance(value, str))
        names = [word for word in found if word.isidentifier()]
        return tuple(word.encode() for word in sorted(names, key=len, reverse=True))

    @cached_property
    def _whole_words(self) -> list[re.Pattern[bytes]]:
        """Patterns of the same names as whole words; a pattern that begins with a text takes the least time."""
        words = [re.escape(word) for word in self.words]
        return [re.compile(rb"%b(?!\w)(?<!\w%b)" % (word, word)) for word in words]

    def words_are_in(self, source: bytes) -> bool:
        """Return whether a source, as `as_names` gives it, may have this text."""
        return all(word in source for word in self.words) and all(one.search(source) for one in self._whole_words)


def _shape(symbol: Symbol, node: ast.stmt) -> tuple[object, ...]:
    """Return the cheap part of a form: the depth of its name, and the name itself of a function."""
    return symbol.name.count("."), type(node), node.name if isinstance(node, FUNCTIONS) else ""


def _compared(symbol: Symbol, node: ast.stmt) -> _Compared:
    bare = _bare(node)
    names, own = tuple(_outer_names(bare)), _own(symbol, bare)
    attributes = frozenset(_own_attributes(bare) if owner_of(symbol.name) else ())
    _rename(bare, own)
    return _Compared(node=bare, own=own, text=dump(bare), outer_names=names, attributes=attributes)


def _own_attributes(node: ast.stmt) -> Iterator[str]:
    """Yield the attributes of a function's first parameter that it names."""
    if not isinstance(node, FUNCTIONS) or not parameters(node.args):
        return
    first = parameters(node.args)[0].name
    for one in nodes_of(node):
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == first:
            yield one.attr


def _own(symbol: Symbol, node: ast.stmt) -> str:
    """Return the class whose name is ignored: the one around a method, or the class itself."""
    return leaf_of(symbol.name) if isinstance(node, ast.ClassDef) else leaf_of(owner_of(symbol.name))


def _syntactic_differences(one: ast.stmt, two: ast.stmt) -> Iterator[str]:
    """Yield the differences of two definitions whose ignored parts are removed."""
    if isinstance(one, FUNCTIONS) and isinstance(two, FUNCTIONS):
        if dump(one.args) != dump(two.args):
            yield f"its parameters ({_exchanged(signature_text(one.args), signature_text(two.args))})"
        if list(map(dump, one.decorator_list)) != list(map(dump, two.decorator_list)):
            yield "its decorators"
    yield from _of_bodies(getattr(one, "body", []), getattr(two, "body", []))
    yield "its kind"


def _of_bodies(one: list[ast.stmt], two: list[ast.stmt]) -> Iterator[str]:
    """Yield the first statement that differs."""
    for number in range(max(len(one), len(two))):
        here, there = one[number : number + 1], two[number : number + 1]
        if list(map(dump, here)) != list(map(dump, there)):
            texts = [" ".join(ast.unparse(part[0]).split()) if part else "" for part in (here, there)]
            yield f"its body ({_exchanged(*texts)})"


def _exchanged(before: str, after: str) -> str:
    shown = [text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…" for text in (before, after)]
    return " → ".join(f"`{text}`" if text else "nothing" for text in shown)


def _givers(member: ResolvedSymbol, own: str) -> dict[str, str]:
    """Return the calls and tables that give an attribute its values, each with the module's name it begins with."""
    found: dict[str, str] = {}
    for value in member.values:
        giver = _giver(value.node)
        found[f"{'sometimes ' * value.sometimes}{_giver_text(giver, leaf_of(own))}"] = _outer_root(value, giver)
    return dict(sorted(found.items()))


def _giver(value: ast.expr) -> ast.expr | None:
    """Return the callee of a value, or the table it is looked up in; None for any other expression."""
    if isinstance(value, ast.Call):
        return value.func
    return value.value if isinstance(value, ast.Subscript) else None


def _giver_text(giver: ast.expr | None, own: str) -> str:
    if giver is None:
        return ""
    renamed = copy.deepcopy(giver)
    _rename(renamed, own)
    return dump(renamed)


def _outer_root(value: GivenValue, giver: ast.expr | None) -> str:
    root = root_of(giver) if giver else None
    if not isinstance(root, ast.Name):
        return ""
    return root.id if value.names is None or value.names.is_outer(root) else ""


def _bare(node: ast.AST) -> Any:  # of the same type, but for assignments that lose their annotation
    """Return a copy of syntax without annotations, docstrings and decorators that keep a function's behaviour."""
    if isinstance(node, ast.AnnAssign):
        plain = ast.Assign(targets=[node.target], value=node.value) if node.value else ast.Pass()
        node = ast.copy_location(plain, node)
    made: Any = ast.copy_location(type(node)(), node)  # its other fields are optional
    for field, value in ast.iter_fields(node):
        if field != _ANNOTATIONS.get(type(node)):
            setattr(made, field, _bare_value(value))
    if isinstance(node, FUNCTIONS):
        made.decorator_list = [one for one in made.decorator_list if last_name(called(one)) in _CHANGING]
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        made.body = without_docstring(made, made.body) or [ast.copy_location(ast.Pass(), node)]
    return made


def _bare_value(value: Any) -> Any:  # of a field: a node, several, or a name
    if isinstance(value, list):
        return list(map(_bare_value, value))
    return _bare(value) if isinstance(value, ast.AST) else value


def _outer_names(node: ast.stmt) -> list[str]:
    """Return the names in a definition that refer to something outside it, in the order of its syntax."""
    names = FreeNames(ast.Module(body=[node], type_ignores=[]))
    found = [one for one in nodes_of(node) if isinstance(one, ast.Name)]
    return [one.id for one in found if names.is_outer(one)]


def _rename(node: ast.AST, own: str) -> None:
    """Replace a class's own name, also inside other names, by a fixed one."""
    if not own:
        return
    rename = re.compile(rf"(?<![A-Z0-9]){re.escape(own)}(?![a-z0-9])").sub
    for one in nodes_of(node):
        if not isinstance(one, ast.Constant):
            _rename_fields(one, lambda text: rename(_OWN, text))


def _rename_fields(node: ast.AST, rename: Callable[[str], str]) -> None:
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, str):
            setattr(node, field, rename(value))
        elif isinstance(value, list) and all(isinstance(one, str) for one in value):
            setattr(node, field, [rename(one) for one in value])
