"""Bounds: a distribution's files, never run → where they compare an installed version, label and all, with its release.

To `packaging.version` ``5.10.4+npu.1.a8c5b99b`` is greater than ``5.10.4``, and as text it is another one. So
``<=5.10.4`` holds for upstream's 5.10.4 and not for ours.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product

from npu_doctor import files, names, versions
from npu_doctor.expressions import CLAUSE, MIRRORED, Frame, Reader, project_of
from npu_doctor.names import Module
from npu_doctor.packages import Packages

# What gives another result for a release with a label than for the release itself.
_TURNED = frozenset({"<=", "==", "!=", ">", "in", "not in"})
_COMPARING = (ast.Compare, ast.Call, ast.Match)
_MEMBERSHIP = frozenset({"in", "not in"})
_OPERATORS: Mapping[type[ast.cmpop], str] = {
    ast.LtE: "<=",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.Gt: ">",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
}


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A comparison whose result differs from that for the release."""

    path: str  # the file
    line: int  # its line
    project: str  # whose version is compared
    operator: str  # how, the version first
    refuses: bool  # whether an error that nothing there catches depends on it


def find_bounds(packages: Packages, paths: Sequence[str], releases: Mapping[str, str]) -> Iterator[Bound]:
    """Yield the bounds in the files of one distribution.

    Args:
        packages: where imports are looked up.
        paths: its Python files.
        releases: by the names of distributions that have a label, the release each is made of.
    """
    named, mentioned = _read(paths, releases)
    search = _Search(reader=Reader(packages=packages, projects=frozenset(mentioned)), releases=mentioned)
    modules = list(filter(None, map(names.module, named)))
    for module in modules:
        search.note_constants(module)
    constants = search.reader.constants
    for path in paths:
        if path not in named and any(files.mentions(path, one) for one in constants):
            modules += filter(None, [names.module(path)])
    for module in modules:
        with contextlib.suppress(RecursionError):  # an expression of a thousand terms
            yield from list(search.bounds(module))


def _read(paths: Sequence[str], releases: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the files that hold a release, and the releases of those projects that any of the files mentions."""
    starts = {project: _start(release).encode() for project, release in releases.items()}
    holding: dict[str, list[str]] = {}
    mentioned: dict[str, str] = {}
    for path in paths:
        content = files.content(path) or b""
        holding[path] = [project for project, start in starts.items() if start in content]
        for project in releases.keys() - mentioned.keys():
            word = re.escape(project.encode())
            if project.encode() in content and re.search(rb"\b" + word + rb"\b", content):  # this takes longer
                mentioned[project] = releases[project]
    return [path for path, projects in holding.items() if not mentioned.keys().isdisjoint(projects)], mentioned


def _start(release: str) -> str:
    """Return the part that every spelling of a release contains: ``5.0`` is 5.0.0, too."""
    return re.sub(r"(\.0)*(\D*\.?dev.*)?$", "", release)


def is_release(text: str, release: str) -> bool:
    """Return whether a text is a release, however it is written."""
    return "+" not in text and versions.same(text, release)


def clauses_at(text: str, release: str) -> set[str]:
    """Return the operators of the clauses in a text that name a release itself, ``<=`` and ``!=`` for example."""
    return {operator for operator, version in CLAUSE.findall(text) if is_release(version, release)}


@dataclass(frozen=True, kw_only=True, eq=False)
class _Search:
    """The search in one distribution."""

    reader: Reader
    releases: Mapping[str, str]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What every text with one of the releases matches."""
        starts = {re.escape(_start(release)) for release in self.releases.values()}
        return re.compile(rf"(?<![\d.])(?:{'|'.join(sorted(starts))})(?!\d)")

    def note_constants(self, module: Module) -> None:
        """Tell the reader a module's constants that hold a release: other files may compare with them."""
        known, whole = self.reader.constants, self.reader.whole(module)
        for name in self._holders(module) & module.values.keys():
            if "version" in name.lower():
                held = [self.reader.held(one, whole).texts for one in module.values[name]]
                known[name] = known.get(name, frozenset()).union(*held)

    def bounds(self, module: Module) -> Iterator[Bound]:
        """Yield the bounds of one module, one a line and project."""
        words = module.nodes(self._holders(module))
        found: dict[tuple[int, str], str] = {}
        refusing: set[int] = set()
        for node in module.enclosing(words, _COMPARING):
            for project, operator in self._turned(node, self.reader.around(node, module)):
                found.setdefault((node.lineno, project), operator)
                if _refuses(node, module):
                    refusing.add(node.lineno)
        for (line, project), operator in found.items():
            yield Bound(path=module.path, line=line, project=project, operator=operator, refuses=line in refusing)

    def _holders(self, module: Module) -> set[str]:
        """Return the texts of a module that bound a release, and the names that are given one, or given such a name."""
        return module.holders([one for one in module.words if one in self.reader.constants or self._any_bound([one])])

    def _turned(self, node: ast.AST, frame: Frame) -> Iterator[tuple[str, str]]:
        """Yield each project whose release a comparison turns over, or a call by what it calls, with the operator."""
        if isinstance(node, ast.Compare):
            for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                yield from self._compared(left, frozenset({_OPERATORS.get(type(operator), "")}), right, frame)
        elif isinstance(node, ast.Match):
            for case in chain.from_iterable(ast.walk(each.pattern) for each in node.cases):
                if isinstance(case, ast.MatchValue):
                    yield from self._compared(node.subject, frozenset({"=="}), case.value, frame)
        elif isinstance(node, ast.Call):
            if operators := self.reader.operators(node, frame):
                yield from self._compared(node.args[0], operators, node.args[1], frame)
            called = self.reader.called(node, frame)
            if called and any(self._any_bound(one.texts) for one in called.given.values()):
                for inner in ast.walk(called.calls[-1]):
                    yield from self._turned(inner, called)

    def _compared(
        self, left: ast.expr, operators: frozenset[str], right: ast.expr, frame: Frame
    ) -> Iterator[tuple[str, str]]:
        """Yield what is turned over of two sides, by the operator in a requirement, or by those asked for."""
        mirrored = frozenset(MIRRORED.get(one, one) for one in operators - _MEMBERSHIP)
        for installed, asked, bound in ((left, operators, right), (right, mirrored, left)):
            version = self.reader.held(installed, frame)
            if (version.projects or version.unnamed) and not version.bare:
                texts = self.reader.held(bound, frame).texts
                # A table's entry is for the project of its key, wherever the version is read.
                projects = version.projects or self.releases.keys() & set(map(project_of, texts))
                for project, text in product(projects, texts):
                    for operator in _turned_by(self._clauses(text, project), asked):
                        yield project, operator

    def _clauses(self, text: str, project: str) -> set[str]:
        """Return how a text bounds a project at its release: the operators of its clauses, "" for the version alone."""
        if not self.pattern.search(text):
            return set()
        if is_release(text, self.releases[project]):
            return {""}
        return clauses_at(text, self.releases[project]) if project_of(text) in ("", project) else set()

    def _any_bound(self, texts: Iterable[str]) -> bool:
        return any(self._clauses(text, project) for text, project in product(texts, self.releases))


def _turned_by(clauses: Set[str], asked: frozenset[str]) -> Set[str]:
    """Return which operators the label turns over: those of a bound's clauses, or those asked for of a bare version.

    A version that is looked for in a `SpecifierSet` is compared as pip does it: without its label, but by ``===``.
    """
    if "" in clauses:
        return _TURNED & asked
    return clauses & {"==="} if asked and asked <= _MEMBERSHIP else _TURNED & clauses


def _refuses(node: ast.AST, module: Module) -> bool:
    """Return whether an error depends on an expression: asserted, called for its own sake, or tested for `raise`."""
    if module.is_caught(node):
        return False
    around = list(module.around(node))
    for inside, outside in zip([node, *around], around, strict=False):
        if isinstance(outside, ast.If) and inside is outside.test:
            inner = chain.from_iterable(map(ast.walk, (*outside.body, *outside.orelse)))
            return any(isinstance(one, ast.Raise) for one in inner)
        if isinstance(outside, ast.stmt):
            return isinstance(outside, (ast.Assert, ast.Expr))
    return False
