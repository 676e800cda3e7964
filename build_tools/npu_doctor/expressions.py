"""Expressions: code that is never run → the texts and the installed versions that an expression may hold.

Names are followed to their values, in any order of statements, into functions that are called and through imports. Only
a version that is read from metadata has a label; ``transformers.__version__`` has none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from packaging.utils import canonicalize_name

from npu_doctor import names
from npu_doctor.names import Function, Module
from npu_doctor.packages import Packages

# Operators as they are written in tables and requirements, and what each is called with its sides exchanged.
MIRRORED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "==", "!=": "!="}
CLAUSE = re.compile(r"(===|==|!=|~=|<=|>=|<|>)\s*([^\s,;<>=!~]+)")
_FUNCTIONS = {"operator.le": "<=", "operator.eq": "==", "operator.ne": "!=", "operator.gt": ">"}
_METADATA = re.compile(r"\b(importlib[._]metadata|pkg_resources)\.(version|distribution|metadata|get_distribution)$")
_NAMED = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(?:[<>=!~;]|$)")
# What leaves the label out; functions where a text has a plus: to cut at, or in a pattern of digits.
_PUBLIC = ("public", "base_version", "release", "major", "minor", "micro")
_CUTTING = ("split", "rsplit", "partition", "rpartition", "sub", "match", "fullmatch", "search", "findall")
# Of an installed distribution: its version, all its metadata, and what gives one field of these.
_VERSIONS = ("version", "parsed_version")
_RECORDS = ("metadata", "json")
_GETTING = ("get", "get_all", "__getitem__")
_DEEPEST = 5  # functions that call functions
_SIDES = 2


def project_of(text: str) -> str:
    """Return the normalised name of the distribution that a text names, alone or in a requirement; empty for none."""
    found = _NAMED.match(text)
    return canonicalize_name(found[1]) if found else ""


@dataclass(frozen=True, kw_only=True)
class Held:
    """What an expression may hold."""

    texts: frozenset[str] = frozenset()  # texts in it
    projects: frozenset[str] = frozenset()  # those whose installed version it may be, as the metadata say it
    unnamed: bool = False  # whether it may be the installed version of a project that no text names
    records: frozenset[str] = frozenset()  # projects whose metadata it may be; empty text for one that no text names
    bare: bool = False  # whether the label may have been cut off


def _union(held: Iterable[Held]) -> Held:
    texts: frozenset[str] = frozenset()
    projects: frozenset[str] = frozenset()
    records: frozenset[str] = frozenset()
    unnamed = bare = False
    for one in held:
        texts |= one.texts
        projects |= one.projects
        records |= one.records
        unnamed |= one.unnamed
        bare |= one.bare
    return Held(texts=texts, projects=projects, unnamed=unnamed, records=records, bare=bare)


def _version_of(held: Held) -> Held:
    """Return the version in some metadata, beside what else an expression holds."""
    unnamed = held.unnamed or "" in held.records
    return replace(held, projects=held.projects | held.records - {""}, unnamed=unnamed, records=frozenset())


def _field_of(held: Held, keys: frozenset[str]) -> Held:
    """Return what a key gives of metadata: the version, by its key or one that is not known, or nothing of interest."""
    if not keys or "version" in map(str.lower, keys):
        return _version_of(held)
    return replace(held, records=frozenset())


@dataclass(frozen=True, kw_only=True, eq=False)
class Frame:
    """A module, or a call of one of its functions."""

    module: Module  # the module
    # The functions that were called on the way, this one last; none for the module itself.
    calls: tuple[Function, ...] = ()
    given: Mapping[str, Held] = field(default_factory=dict)  # what the parameters hold

    @cached_property
    def values(self) -> Mapping[str, list[ast.expr]]:
        """What the names of the function are given."""
        return names.values_in(self.calls[-1]) if self.calls else {}


@dataclass(frozen=True, kw_only=True, eq=False)
class Reader:
    """Reads expressions."""

    packages: Packages  # where imports are looked up
    projects: frozenset[str]  # distributions whose versions count
    # Texts of constants that are attributes of any object.
    constants: dict[str, frozenset[str]] = field(default_factory=dict)
    _known: dict[tuple[ast.AST, Frame], Held] = field(default_factory=dict)
    _modules: dict[Module, Frame] = field(default_factory=dict)

    def whole(self, module: Module) -> Frame:
        """Return the frame of a module."""
        return self._modules.setdefault(module, Frame(module=module))

    def around(self, node: ast.AST, module: Module) -> Frame:
        """Return the frame of the innermost function that contains a node, or of its module."""
        function = next((one for one in module.around(node) if isinstance(one, Function)), None)
        return Frame(module=module, calls=(function,)) if function else self.whole(module)

    def held(self, node: ast.AST, frame: Frame) -> Held:
        """Return what an expression may hold."""
        key = (node, frame)
        if key not in self._known:
            self._known[key] = Held()  # what leads back here adds nothing
            self._known[key] = self._read(node, frame)
        return self._known[key]

    def _held_by_any(self, nodes: Iterable[ast.AST], frame: Frame) -> Held:
        return _union(self.held(one, frame) for one in nodes)

    def operators(self, node: ast.Call, frame: Frame) -> frozenset[str]:
        """Return by which operators a call compares its two arguments, or requirements that name them; none if not."""
        if len(node.args) != _SIDES:
            return frozenset()
        known = _FUNCTIONS.get(self._resolve(node.func, frame)[1])
        asked = {known} if known else self.held(node.func, frame).texts
        return frozenset(text for text in asked if text in MIRRORED or CLAUSE.search(text))

    def called(self, node: ast.Call, frame: Frame) -> Frame | None:
        """Return the call of a function whose text is there; None for another, and for one that leads back here."""
        home, name = self._resolve(node.func, frame)
        function = home.functions.get(name) if home else None
        if home is None or function is None or function in frame.calls or len(frame.calls) > _DEEPEST:
            return None
        parameters = names.parameters(function)
        # The values that `*` and `**` spread may reach any of them.
        given = dict.fromkeys(parameters, self._held_by_any(names.spread(node), frame))
        given |= dict(zip(parameters, [self.held(one, frame) for one in node.args], strict=False))
        given |= {one.arg: self.held(one.value, frame) for one in node.keywords if one.arg}
        return Frame(module=home, calls=(*frame.calls, function), given=given)

    def _resolve(self, node: ast.AST, frame: Frame) -> tuple[Module | None, str]:
        return names.resolve(names.dotted(node), frame.module, self.packages)

    def _read(self, node: ast.AST, frame: Frame) -> Held:
        if isinstance(node, ast.Constant):
            text = node.value if isinstance(node.value, str) else ""
            return Held(texts=frozenset({text}) | self.constants.get(text, frozenset()))
        if isinstance(node, ast.Call):
            return self._returned(node, frame)
        if isinstance(node, ast.Name):
            return self._named(node, frame)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, frame)
        inner = self._held_by_any(self._parts(node), frame)
        if isinstance(node, ast.Subscript) and inner.records:
            return _field_of(inner, self.held(node.slice, frame).texts)
        return inner

    def _parts(self, node: ast.AST) -> Iterable[ast.AST]:
        """Return the parts of an expression that may be its value; those of a comparison make a truth, no version."""
        if isinstance(node, ast.Compare):
            return ()
        return self._entries(node) if isinstance(node, ast.Dict) else ast.iter_child_nodes(node)

    def _entries(self, table: ast.Dict) -> list[ast.expr]:
        """Return the values of a table; of one whose keys name projects, only what is for these, with the keys."""
        ours: list[ast.expr] = []
        for key, value in zip(table.keys, table.values, strict=True):
            if isinstance(key, ast.Constant) and key.value in self.projects:
                ours += [key, value]
        return ours or table.values

    def _named(self, node: ast.Name, frame: Frame) -> Held:
        if node.id in frame.values or node.id in frame.given:
            own = self._held_by_any(frame.values.get(node.id, ()), frame)
            return _union([own, frame.given.get(node.id, Held())])
        return self._global(node, frame)

    def _global(self, node: ast.AST, frame: Frame) -> Held:
        home, name = self._resolve(node, frame)
        if home is None:
            return Held()
        return self._held_by_any(home.values.get(name, ()), self.whole(home))

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Held:
        given = self._held_by_any(frame.module.values.get(node.attr, ()), self.whole(frame.module))
        owner = self.held(node.value, frame)
        if node.attr in _VERSIONS:
            owner = _version_of(owner)
        elif node.attr not in _RECORDS:
            owner = replace(owner, records=frozenset())
        constant = Held(texts=self.constants.get(node.attr, frozenset()), bare=node.attr in _PUBLIC)
        return _union([given, self._global(node, frame), owner, constant])

    def _returned(self, node: ast.Call, frame: Frame) -> Held:
        """Return what a call may return: an installed version, what a function returns, else all it is given."""
        given = self._held_by_any(names.arguments(node), frame)
        if found := _METADATA.search(self._resolve(node.func, frame)[1]):
            named = self.projects & {project_of(text) for text in given.texts}
            record = Held(records=named if given.texts else frozenset({""}))
            return _version_of(record) if found[2] == "version" else record
        if self.operators(node, frame):
            return Held()
        if inner := self.called(node, frame):
            returned = [one.value for one in ast.walk(inner.calls[-1]) if isinstance(one, (ast.Return, ast.Yield))]
            return self._held_by_any(filter(None, returned), inner)
        receiver = self.held(node.func.value, frame) if isinstance(node.func, ast.Attribute) else Held()
        if names.last(node.func) in _GETTING and receiver.records:
            return _field_of(_union([given, receiver]), self._held_by_any(node.args[:1], frame).texts)
        held = _union([given, receiver])
        cut = names.last(node.func) in _CUTTING and any("+" in text for text in given.texts)
        return replace(held, bare=held.bare or cut)
