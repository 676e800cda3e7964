"""Evaluation: an expression of code that is never run → its values with an installed version, and with its release.

Names are followed to all their values, through functions that are called and through imports. What is computed is
little: texts, versions, and what compares them. Only a version that is read from metadata has a label;
``transformers.__version__`` has none.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, product
from types import SimpleNamespace
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from npu_doctor import names
from npu_doctor.names import Element, Function, ModuleNames
from npu_doctor.packages import Packages

_DEEPEST = 5  # functions that call functions
_MOST, _CALLS = 20, 500  # values of one expression, and choices of the arguments of one call
_LONGEST = 10_000  # characters, or items, of a value
_LARGEST = 300_000  # expressions that are evaluated for one distribution and project
_METADATA = re.compile(r"\b(?:importlib[._]metadata|pkg_resources)\.(version|distribution|metadata|get_distribution)$")
_VERSION = re.compile(r"\b(?:version\.(?:parse|\w*Version)|pkg_resources\.parse_version)$")
# What a kind of expression, or its operator, does with the values of the expressions in it.
_OPERATIONS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda one, several: one in several,
    ast.NotIn: lambda one, several: one not in several,
    ast.Add: operator.add,
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.Tuple: lambda *held: held,
    ast.List: lambda *held: list(held),
    ast.Set: lambda *held: set(held),
    ast.JoinedStr: lambda *held: "".join(map(str, held)),
    ast.FormattedValue: str,
    ast.Subscript: operator.getitem,
    ast.Slice: slice,
}
_BUILTINS: dict[str, Any] = {one.__name__: one for one in (str, int, float, bool, tuple, list, set, frozenset)}
_BUILTINS |= {"len": len, "max": max, "min": min, "sorted": sorted}
_KNOWN: Mapping[str, Any] = {
    **_BUILTINS,
    "map": lambda function, values: list(map(function, values)),
    "zip": lambda *several: list(zip(*several, strict=False)),
    **{f"operator.{name}": getattr(operator, name) for name in ("lt", "le", "eq", "ne", "ge", "gt")},
    **{f"re.{name}": getattr(re, name) for name in ("match", "fullmatch", "search", "findall", "split", "sub")},
    "packaging.specifiers.SpecifierSet": SpecifierSet,
}
_TRUTHS = (bool, re.Match, type(None))  # what is tested: a text or a number may differ without that
_HELD = (str, tuple, list, dict, Version, SpecifierSet, SimpleNamespace, re.Match)
_METHODS = {
    *("split", "rsplit", "partition", "rpartition", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix"),
    *("replace", "lower", "startswith", "endswith", "isdigit", "join", "get", "items", "keys", "values"),
    *("contains", "count", "group", "groups"),
}


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A value, with the installed version and with its release; an exception where that is raised."""

    ours: Any
    release: Any
    read: bool = False  # whether the version was read on the way

    @property
    def turns(self) -> bool:
        """Whether the two are opposite truths."""
        both = isinstance(self.ours, _TRUTHS) and isinstance(self.release, _TRUTHS)
        return both and bool(self.ours) is not bool(self.release)

    @property
    def raises(self) -> bool:
        """Whether an error is raised for the installed version alone."""
        return isinstance(self.ours, Exception) and not isinstance(self.release, Exception)


def applied(function: Callable[..., Any], *operands: Twin) -> Twin:
    """Return what a function gives for each side; an operand that is an exception is the result."""
    ours, release = ([one.ours for one in operands], [one.release for one in operands])
    read = any(one.read for one in operands)
    return Twin(ours=_result(function, ours), release=_result(function, release), read=read)


def _result(function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    raised = next((one for one in operands if isinstance(one, Exception)), None)
    try:
        found = raised or function(*operands)
    except Exception as error:  # an exception of the function is its result
        return error
    return LookupError() if isinstance(found, (str, tuple, list)) and len(found) > _LONGEST else found


@dataclass(frozen=True, kw_only=True, eq=False)
class Frame:
    """A module, or a call of one of its functions."""

    module: ModuleNames
    calls: tuple[Function, ...] = ()  # the functions that were called on the way; none for the module itself
    given: Mapping[str, Twin] = field(default_factory=dict)  # what parameters hold


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """Evaluates expressions for one project."""

    packages: Packages  # where imports are looked up
    project: str  # the distribution whose version counts
    version: str  # as it is installed
    release: str  # what it is made of
    # Values of constants, which an attribute of any object may stand for.
    constants: dict[str, list[Twin]] = field(default_factory=dict)
    _known: dict[tuple[object, Frame], list[Twin]] = field(default_factory=dict)
    # The names that are being read, with what is known so far, and those that lead back to themselves.
    _open: dict[tuple[object, Frame], list[Twin]] = field(default_factory=dict)
    _cut: set[tuple[object, Frame]] = field(default_factory=set)
    _budget: Iterator[int] = field(default_factory=lambda: iter(range(_LARGEST)))
    _frames: dict[object, Frame] = field(default_factory=dict)
    _calls: dict[ast.Attribute, ast.Call] = field(default_factory=dict)  # of properties

    def frame(self, module: ModuleNames, function: Function | None = None) -> Frame:
        """Return the frame of a module, or of a function that is not known to be called."""
        calls = (function,) if function else ()
        return self._frames.setdefault((module, function), Frame(module=module, calls=calls))

    def values(self, node: ast.AST, frame: Frame) -> list[Twin]:
        """Return the values that an expression may have; none where they are not known."""
        key = (node, frame)
        if key in self._known or next(self._budget, None) is None:
            return self._known.get(key, [])
        different: dict[str, Twin] = {}
        for one in islice(self._evaluated(node, frame), _MOST):
            if not isinstance(one.release, Exception):  # where upstream's fails, too, nothing is to be told
                different.setdefault(repr(one), one)
        return self._kept(key, list(different.values()))

    def _kept(self, key: tuple[object, Frame], found: list[Twin]) -> list[Twin]:
        """Return values, and keep them where they are all there are: no name on the way was being read already."""
        if not self._cut:
            self._known[key] = found
        return found

    def _evaluated(self, node: ast.AST, frame: Frame) -> Iterable[Twin]:
        if isinstance(node, ast.Constant):
            return [Twin(ours=node.value, release=node.value)]
        if isinstance(node, ast.Name):
            return self._named(node.id, frame)
        if read := _READERS.get(type(node)):
            return read(self, node, frame)
        operands: Iterable[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, ast.Slice):
            operands = [one or ast.Constant(None) for one in (node.lower, node.upper, node.step)]
        function = _OPERATIONS.get(type(getattr(node, "op", node)))  # type: ignore[arg-type]  # or of its operator
        expressions = [one for one in operands if isinstance(one, ast.expr)]
        return self._combined(function, expressions, frame) if function else []

    def _combined(self, function: Callable[..., Any], operands: Sequence[ast.expr], frame: Frame) -> Iterator[Twin]:
        """Yield what a function gives for each choice of its operands' values."""
        for chosen in product(*(self.values(one, frame) for one in operands)):
            yield applied(function, *chosen)

    def _alternatives(self, node: ast.BoolOp | ast.IfExp | ast.NamedExpr, frame: Frame) -> Iterator[Twin]:
        for one in ast.iter_child_nodes(node):
            yield from self.values(one, frame)

    def _comparisons(self, node: ast.Compare, frame: Frame) -> Iterator[Twin]:
        """Yield the result of each comparison of a chain."""
        for left, compares, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            if function := _OPERATIONS.get(type(compares)):
                yield from self._combined(function, [left, right], frame)

    def _named(self, name: str, frame: Frame) -> list[Twin]:
        """Return the values of a name: of a parameter, in a function, in its module, or where it is imported from."""
        own = names.values_of(frame.calls[-1]) if frame.calls else {}
        if frame.calls and (name in own or name in frame.given or name in names.parameters(frame.calls[-1])):
            given = [frame.given[name]] if name in frame.given else []
            return self._given(name, own.get(name, ()), frame, given)
        return self._global([name], frame)

    def _given(self, name: str, nodes: Sequence[ast.expr], frame: Frame, given: Sequence[Twin] = ()) -> list[Twin]:
        """Return the values that a name is given; where one of them has lost the label, only such ones."""
        key = (name, frame)
        if key in self._open:
            self._cut.add(key)
        if key in self._open or key in self._known:
            return self._open.get(key) or self._known.get(key, [])
        known = self._open[key] = list(given)
        bare: list[Twin] = []
        for node in nodes:  # each may be made of what the name held before
            found = self.values(node, frame)
            bare += found if all(one.read and one.ours == one.release for one in found) else []
            known += found
        if not known and frame.calls and self.project in frame.module.texts:
            known = [Twin(ours=self.project, release=self.project)]  # any project may be asked for, ours too
        del self._open[key]
        self._cut.discard(key)
        return self._kept(key, bare or known)

    def _global(self, parts: Sequence[str], frame: Frame) -> list[Twin]:
        home, name = names.resolve(parts, frame.module, self.packages)
        if home and name in home.values:
            return self._given(name, home.values[name], self.frame(home))
        if found := _METADATA.search(name):
            read = [partial(_read, found[1], self.project, version) for version in (self.version, self.release)]
            return [Twin(ours=read[0], release=read[1], read=True)]
        known = Version if _VERSION.search(name) else _KNOWN.get(name)
        return [Twin(ours=known, release=known)] if known else []

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Iterator[Twin]:
        parts = names.dotted(node)
        found = self._global(parts, frame) if parts else []
        for one in found or self.values(node.value, frame):
            yield one if found else applied(partial(_attribute_of, node.attr), one)
        if not found:
            yield from self._given(node.attr, frame.module.values.get(node.attr, ()), self.frame(frame.module))
            yield from self.constants.get(node.attr, ())
            yield from self._property(node, frame)

    def _property(self, node: ast.Attribute, frame: Frame) -> Iterator[Twin]:
        """Yield what a property of the object that a method belongs to returns."""
        function = frame.module.functions.get(node.attr)
        if isinstance(node.value, ast.Name) and node.value.id == "self" and function and names.is_property(function):
            call = ast.Call(func=node, args=[], keywords=[])
            yield from self.values(self._calls.setdefault(node, call), frame)

    def _table(self, node: ast.Dict, frame: Frame) -> Iterator[Twin]:
        """Yield a table; one whose keys name projects has only what is for ours."""
        entries = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key]
        ours = [one for one in entries if isinstance(one[0], ast.Constant) and one[0].value == self.project]
        known: list[tuple[list[Twin], list[Twin]]] = []
        for key, value in ours or entries:
            pair = self.values(key, frame), self.values(value, frame)
            if all(pair):
                known.append(pair)
        for number in range(max((max(map(len, pair)) for pair in known), default=0)):
            chosen: list[Twin] = []
            for pair in known:
                chosen += [held[min(number, len(held) - 1)] for held in pair]
            yield applied(lambda *held: dict(zip(held[::2], held[1::2], strict=True)), *chosen)

    def _elements(self, node: Element, frame: Frame) -> Iterator[Twin]:
        for held in self.values(node.iterable, frame):
            both = applied(lambda one: [] if isinstance(one, str) else list(one), held)
            if not isinstance(both.ours, Exception) and not isinstance(both.release, Exception):
                for one, other in zip(both.ours, both.release, strict=False):
                    yield Twin(ours=one, release=other, read=held.read)

    def _returned(self, node: ast.Call, frame: Frame) -> Iterator[Twin]:
        if self._function(node, frame):
            for called in self.calls(node, frame):
                for one in ast.walk(called.calls[-1]):
                    if isinstance(one, ast.Return) and one.value:
                        yield from self.values(one.value, called)
            return
        positions, named = self._arguments(node, frame)
        for function, *chosen in product(self.values(node.func, frame), *positions, *named.values()):
            yield applied(partial(_called, tuple(named), len(positions)), function, *chosen)

    def calls(self, node: ast.Call, frame: Frame) -> list[Frame]:
        """Return the calls of a function whose text is there, one for each choice of what the arguments hold.

        None of another function, and of one that leads back here.
        """
        found = self._function(node, frame)
        if found is None or found[1] in frame.calls or len(frame.calls) > _DEEPEST:
            return []
        home, function = found
        positions, named = self._arguments(node, frame)
        given = dict(zip(names.parameters(function), positions, strict=False)) | named
        given = {name: held for name, held in given.items() if held}
        choices = islice(product(*given.values()), _CALLS)
        calls = (*frame.calls, function)
        return [Frame(module=home, calls=calls, given=dict(zip(given, one, strict=True))) for one in choices]

    def _function(self, node: ast.Call, frame: Frame) -> tuple[ModuleNames, Function] | None:
        """Return a function that is called, and its module, where its text is there."""
        home, name = names.resolve(names.dotted(node.func), frame.module, self.packages)
        return (home, home.functions[name]) if home and name in home.functions else None

    def _arguments(self, node: ast.Call, frame: Frame) -> tuple[list[list[Twin]], dict[str, list[Twin]]]:
        """Return the values of the arguments by position, of one that is spread each that it holds, and by name."""
        positions: list[list[Twin]] = []
        for one in node.args:
            if isinstance(one, ast.Starred):
                positions += [[element] for element in self._elements(Element(one.value), frame)]
            else:
                positions.append(self.values(one, frame))
        return positions, {one.arg: self.values(one.value, frame) for one in node.keywords if one.arg}


_READERS: Mapping[type[ast.AST], Callable[[Evaluation, Any, Frame], Iterable[Twin]]] = {
    ast.Attribute: Evaluation._attribute,
    ast.Call: Evaluation._returned,
    ast.Dict: Evaluation._table,
    ast.Compare: Evaluation._comparisons,
    Element: Evaluation._elements,
    ast.BoolOp: Evaluation._alternatives,
    ast.IfExp: Evaluation._alternatives,
    ast.NamedExpr: Evaluation._alternatives,
}


class _Fields(dict[str, str]):
    """Metadata of a distribution: names of fields are written in any case, and in small letters for `json`."""

    @property
    def json(self) -> _Fields:
        return self

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name.lower(), default)


def _read(kind: str, project: str, version: str, name: str) -> Any:
    """Return what a function that reads metadata gives for a distribution of that name."""
    if canonicalize_name(name.strip()) != project:
        raise LookupError(name)
    fields = _Fields(name=project, version=version)
    return {"version": version, "metadata": fields}.get(kind) or SimpleNamespace(version=version, metadata=fields)


def _attribute_of(name: str, held: Any) -> Any:
    found = None if name.startswith("_") or not isinstance(held, _HELD) else getattr(held, name)
    if found is None or (callable(found) and name not in _METHODS):
        raise AttributeError(name)
    return found


def _called(named: tuple[str, ...], count: int, function: Any, *operands: Any) -> Any:
    return function(*operands[:count], **dict(zip(named, operands[count:], strict=True)))
