"""Inheritance: class of a tree → its actual bases and its MRO."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from npu_overlays.model.definitions import Definition
from npu_overlays.model.external_classes import actual_bases, external_line, made_of
from npu_overlays.model.shipped_modules import ShippedModules
from npu_overlays.model.symbols import Symbol, Target
from npu_overlays.model.syntax import nodes_of, targets

T = TypeVar("T")

Class: TypeAlias = Symbol | str
Line: TypeAlias = Sequence[Class]

NAMED_TUPLES = frozenset({"collections.namedtuple", "typing.NamedTuple"})
_OBJECT = "builtins.object"
_GENERIC = "typing.Generic"
_HARMLESS_METACLASSES = frozenset({"builtins.type", "abc.ABCMeta", "enum.EnumMeta", "enum.EnumType"})
# The arguments of `type`, and of a metaclass's `__new__` behind itself.
_MAKING = ("name", "bases", "namespace")


class Bases(NamedTuple):
    """The bases of a class."""

    stated: tuple[Target, ...]  # as they are written
    actual: tuple[Class, ...]  # as Python has them
    known: bool  # False where some are unknown

    @property
    def external(self) -> list[str]:
        """The dotted names, as written, of the bases from outside the tree."""
        return [base for base in self.stated if isinstance(base, str)]


class Mro(NamedTuple):
    """The MRO of a class, without `object`."""

    order: tuple[Class, ...]  # those of another distribution by name, with their own bases where these are known
    known: bool  # False where this is only the likeliest order: a base is unknown, or Python refuses the bases

    @property
    def line(self) -> tuple[Symbol, ...]:
        """Its classes that are in the tree."""
        return tuple(one for one in self.order if isinstance(one, Symbol))


class NameResolver(Protocol):
    """Resolves the expressions of a module."""

    modules: ShippedModules

    @property
    def is_settled(self) -> bool:
        """Whether answers found now are complete."""

    def resolve(self, path: str, node: ast.expr, *, before: int | None = None, within: str = "") -> tuple[Target, ...]:
        """Return what an expression may stand for, likeliest first."""


class Inheritance:
    """The bases and MROs of the classes of one tree.

    Args:
        names: resolves their bases.
    """

    def __init__(self, names: NameResolver) -> None:
        self._names = names
        self._bases: dict[Symbol, Bases] = {}
        self._mro: dict[Symbol, Mro] = {}
        self._named_tuples: set[str] = set()

    def note_named_tuple(self, name: str) -> str:
        """Note the dotted name of a class that a call among the bases makes, and that has no symbol."""
        self._named_tuples.add(name)
        return name

    def bases(self, symbol: Symbol) -> Bases:
        """Return the bases of a class; if it is defined several times, those of all definitions."""
        if symbol in self._bases:
            return self._bases[symbol]
        self._bases[symbol] = Bases((), (), known=False)  # for a class that is, by mistake, its own base
        each = list(dict.fromkeys(self._each(symbol)))
        if len(each) == 1 and symbol not in each[0].actual:
            known = each[0].known and self._remains(symbol)
            return self._kept(self._bases, symbol, each[0]._replace(known=known))
        stated: dict[Target, None] = {}
        actual: dict[Class, None] = {}
        for one in each:
            stated.update(dict.fromkeys(one.stated))
            actual.update(dict.fromkeys(one.actual))
        actual.pop(symbol, None)
        return self._kept(self._bases, symbol, Bases(tuple(stated), tuple(actual), known=False))

    def mro(self, symbol: Symbol) -> Mro:
        """Return the MRO of a class."""
        if symbol in self._mro:
            return self._mro[symbol]
        self._mro[symbol] = Mro((symbol,), known=False)  # likewise
        bases = self.bases(symbol)
        lines: list[Line] = []
        known = bases.known
        for base in bases.actual:
            order, sure = self._line(base)
            lines.append(order)
            known = known and sure
        merged, sure = linearized(lines, bases.actual, self._is_opaque)
        return self._kept(self._mro, symbol, Mro((symbol, *merged), known and sure))

    def _kept(self, answers: dict[Symbol, T], symbol: Symbol, answer: T) -> T:
        """Return an answer, and cache it if it is settled."""
        answers[symbol] = answer
        if not self._names.is_settled:
            del answers[symbol]
        return answer

    def made(self, path: str, definition: Definition) -> Bases | None:
        """Return the bases of a class that an assigned call makes, such as ``namedtuple``; None for another symbol."""
        call = assigned(definition)
        if not isinstance(call, ast.Call):
            return None
        called = self._single(path, call.func, definition)
        found: tuple[Target, ...] = ()
        if called in NAMED_TUPLES or made_of(called):
            found = (made_of(called) or "builtins.tuple",)
        elif called == "builtins.type" and len(call.args) == len(_MAKING):
            listed = call.args[1].elts if isinstance(call.args[1], ast.Tuple) else [call.args[1]]
            found = tuple(self._single(path, base, definition) for base in listed)
        elif len(call.args) > 1 and called and self.is_class(called) and "enum.Enum" in self._line(called).order:
            found = (called,)
        actual = tuple(base for base in found if base and self.is_class(base))
        return Bases(found, actual, known=found == actual) if found else None

    def is_class(self, target: Target) -> bool:
        """Return whether something may be a class."""
        if not isinstance(target, Symbol):
            return target is not None and not self._names.modules.holds(target)
        for one in self._definitions(target):
            if isinstance(one.node, ast.ClassDef) or self.made(target.path, one):
                return True
        return False

    def _remains(self, symbol: Symbol) -> bool:
        """Return whether the classes around a class certainly still have their names once its module has run."""
        module = self._names.modules.module(symbol.path)
        return module is None or module.remains(module.definitions[symbol.name][-1])

    def _definitions(self, symbol: Symbol) -> list[Definition]:
        """Return the definitions of a name at run time; if there are none, those for type checkers."""
        module = self._names.modules.module(symbol.path)
        return module.at_run_time(symbol.name) if module else []

    def _each(self, symbol: Symbol) -> list[Bases]:
        """Return the bases in each definition of a class."""
        known = self._definitions(symbol)
        classes = [self._stated(symbol.path, one, one.node) for one in known if isinstance(one.node, ast.ClassDef)]
        return classes or list(filter(None, (self.made(symbol.path, one) for one in known)))

    def _stated(self, path: str, definition: Definition, node: ast.ClassDef) -> Bases:
        stated: list[tuple[Target, bool]] = []
        known = all(self._keeps_bases(path, definition, one) for one in node.keywords)
        for base in node.bases:
            found = self._resolved(path, base, definition)
            likeliest = next(filter(self.is_class, found), None)
            subscripted = isinstance(base, ast.Subscript)
            known = known and likeliest is not None and found == (likeliest,)
            known = known and not (subscripted and self._gives_item(likeliest))
            stated.append((likeliest, subscripted))
        stated += [(_GENERIC, True)] if getattr(node, "type_params", []) else []
        actual = actual_bases(stated, self._is_generic)
        written = tuple(target for target, _ in stated)
        if any(map(self.is_typed_dict, written)):
            actual = [*([_GENERIC] if _GENERIC in actual else []), "builtins.dict"]
        kept = tuple(one for one in actual if one and one != _OBJECT)
        # In front of another class Python refuses it.
        return Bases(written, kept, known and _OBJECT not in actual[:-1])

    def _resolved(self, path: str, node: ast.expr, definition: Definition) -> tuple[Target, ...]:
        """Return what an expression may stand for at a definition."""
        return self._names.resolve(path, node, before=definition.node.lineno, within=definition.parent)

    def _single(self, path: str, node: ast.expr, definition: Definition) -> Target:
        """Return what an expression certainly stands for at a definition, or None."""
        found = self._resolved(path, node, definition)
        return found[0] if len(found) == 1 else None

    def _line(self, base: Class) -> Mro:
        if isinstance(base, Symbol):
            return self.mro(base)
        own = (base, "builtins.tuple") if base in self._named_tuples else (base,)
        return Mro(external_line(base) or own, known=True)

    def _is_opaque(self, base: Class) -> bool:
        return isinstance(base, str) and external_line(base) is None and base not in self._named_tuples

    def _is_generic(self, target: Target) -> bool:
        return target is not None and _GENERIC in self._line(target).order

    def _gives_item(self, target: Target) -> bool:
        """Return whether a class of the tree defines what subscripting it returns."""
        line = self.mro(target).line if isinstance(target, Symbol) else ()
        return any(self._definitions(one.member("__class_getitem__")) for one in line)

    def is_typed_dict(self, target: Target) -> bool:
        """Return whether a class is a ``TypedDict``, and so a plain dictionary at run time."""
        pending, seen = [target], set[Target]()
        while pending:
            one = pending.pop()
            if not isinstance(one, Symbol):
                if made_of(one) == "builtins.dict":
                    return True
            elif one not in seen:  # `class A(A)`: several definitions of one name have each other among their bases
                seen.add(one)
                pending += self.bases(one).stated
        return False

    def _keeps_bases(self, path: str, definition: Definition, keyword: ast.keyword) -> bool:
        """Return whether the keywords of a class header certainly keep its bases."""
        if keyword.arg != "metaclass":
            return keyword.arg is not None
        return all(map(self._is_plain_metaclass, self._resolved(path, keyword.value, definition)))

    def _is_plain_metaclass(self, target: Target) -> bool:
        """Return whether a metaclass certainly keeps the stated bases."""
        if target is None:
            return False
        for one in self._line(target).order:
            module = self._names.modules.module(one.path) if isinstance(one, Symbol) else None
            if module is None or isinstance(one, str):
                if one not in _HARMLESS_METACLASSES:
                    return False
                continue
            if f"{one.name}.mro" in module.definitions:
                return False
            for maker in module.definitions.get(f"{one.name}.__new__", []):
                if not _hands_on_bases(maker.node):
                    return False
        return self.is_class(target)


def assigned(definition: Definition) -> ast.expr | None:
    """Return the value that an assignment binds to a name as a whole; None for any other statement."""
    node = definition.node
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return None
    return node.value if any(isinstance(one, (ast.Name, ast.Attribute)) for one in targets(node)) else None


def _hands_on_bases(function: ast.stmt) -> bool:
    """Return whether the ``__new__`` of a metaclass keeps the bases that it is given."""
    parameters = function.args.args if isinstance(function, ast.FunctionDef) else []
    name = parameters[2].arg if len(parameters) > len(_MAKING) - 1 else ""
    hands_on = False
    for node in nodes_of(function):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "__new__" and node.args:
            given = node.args[2] if len(node.args) > len(_MAKING) - 1 else node.args[-1]
            if not isinstance(given, ast.Starred) and getattr(given, "id", "") != name:
                return False
            hands_on = True
    return hands_on


def linearized(lines: Sequence[Line], bases: Line, is_opaque: Callable[[Class], bool]) -> tuple[list[Class], bool]:
    """Return the MRO that Python computes from those of several bases, and whether it is certain.

    If Python refuses the bases, the first ones come first, and the result is uncertain. It is uncertain too if the
    order of classes of the tree depends on how unknown classes derive from one another.

    Args:
        lines: the MRO of each base, itself first.
        bases: in the order of the class's header.
        is_opaque: returns whether the bases of a class are unknown.
    """
    pending: list[list[Class]] = [*map(list, lines), list(bases)]
    found: list[Class] = []
    sure = True
    while heads := [line[0] for line in pending if line]:
        behind: set[Class] = set()
        for line in pending:
            behind.update(line[1:])
        free = [one for one in heads if one not in behind]
        first = (free or heads)[0]
        sure = sure and bool(free) and not _hangs(first, pending[:-1], is_opaque)
        found.append(first)
        for line in pending:
            while first in line:
                line.remove(first)
    return found, sure


def _hangs(first: Class, lines: Sequence[Line], is_opaque: Callable[[Class], bool]) -> bool:
    """Return whether another class may derive from the next one, and so must precede it."""
    if isinstance(first, Symbol):
        return False
    ahead = beside = False
    for line in lines:
        if first not in line:
            beside = beside or any(map(is_opaque, line))
        elif line[:1] == [first]:
            ahead = ahead or any(isinstance(one, Symbol) for one in line)
    return ahead and beside
