"""Parted versions: a distribution's files, never run → where they take an installed version apart and its label fails.

``5.10.4+npu.1.a8c5b99b`` has five parts between dots, and two of them are no numbers. So ``a, b, c = v.split(".")`` and
``tuple(map(int, v.split(".")))`` raise for our version and not for upstream's.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from npu_doctor import files, names, versions
from npu_doctor.expressions import Frame, Reader
from npu_doctor.names import Function, Module
from npu_doctor.packages import Packages

_NUMBERS: Mapping[str, Callable[[Any], float]] = {"int": int, "float": float}
_METHODS = ("split", "rsplit", "partition", "rpartition", "strip", "lstrip", "rstrip", "replace", "lower")
# What takes a list or a version as it is.
_SAME = ("str", "list", "tuple")
_TAKING = (ast.Call, ast.Assign, ast.ListComp, ast.GeneratorExp)
_WITH_FUNCTION = 2  # arguments of `map`


@dataclass(frozen=True, kw_only=True)
class Parted:
    """An expression that raises for an installed version and not for its release.

    Args:
        path: the file.
        line: its line.
        project: whose version is taken apart.
        refuses: whether nothing there catches the error.
    """

    path: str
    line: int
    project: str
    refuses: bool


def find_parted(packages: Packages, paths: Sequence[str], installed: Mapping[str, str]) -> Iterator[Parted]:
    """Yield where the files of one distribution raise because of a label.

    Args:
        packages: where imports are looked up.
        paths: its Python files.
        installed: by the names of distributions that have a label, their versions.
    """
    quoted = re.compile(rf"""["'](?:{"|".join(map(re.escape, installed))})["']""".encode())
    reader = Reader(packages=packages, projects=frozenset(installed))
    for path in paths:
        content = files.content(path) or b""
        module = names.module(path) if b"version" in content and quoted.search(content) else None
        if module:
            with contextlib.suppress(RecursionError):  # an expression of a thousand terms
                yield from list(_parted_in(module, reader, installed))


def _parted_in(module: Module, reader: Reader, installed: Mapping[str, str]) -> Iterator[Parted]:
    found: dict[tuple[int, str], bool] = {}
    quoted = [node for name in installed for node in module.words.get(name, ()) if isinstance(node, ast.Constant)]
    holders = module.holders({name for node in quoted for name in module.receivers(node)})
    named = [node for name in holders for node in module.words.get(name, ())]
    nodes = {one for node in (*quoted, *named) for one in module.around(node) if isinstance(one, _TAKING)}
    for node in sorted(nodes, key=lambda one: (one.lineno, one.col_offset)):
        around = list(module.around(node))
        function = [one for one in around if isinstance(one, Function)][:1]
        scope = Frame(module=module, calls=tuple(function)) if function else reader.whole(module)
        refuses = not any(getattr(one, "handlers", ()) for one in around)
        for project, version in installed.items():
            if _raises(node, scope, _Values(reader, project, version)):
                found.setdefault((node.lineno, project), refuses)
    for (line, project), refuses in found.items():
        yield Parted(path=module.path, line=line, project=project, refuses=refuses)


def _raises(node: ast.AST, scope: Frame, values: _Values) -> bool:
    """Return whether an expression, or the function that it calls, raises for a version and not for its release."""
    taken = _taken(node)
    if taken:
        return not _works(*taken, scope, values) and _works(*taken, scope, values.of_release())
    called = values.reader.called(node, scope) if isinstance(node, ast.Call) else None
    if called is None or not any(values.project in one.projects for one in called.given.values()):
        return False
    inside = [one for one in ast.walk(called.calls[-1]) if isinstance(one, _TAKING)]
    return any(_raises(one, called, values) for one in inside)


def _taken(node: ast.AST) -> tuple[ast.expr, Callable[[Any], object]] | None:
    """Return what an expression takes apart, and what is done with that; None for another expression."""
    if isinstance(node, ast.Assign):
        counts = [len(one.elts) for one in node.targets if isinstance(one, (ast.Tuple, ast.List)) and _is_plain(one)]
        return (node.value, lambda held: _counted(held, counts[0])) if counts else None
    if isinstance(node, ast.Call):
        function, inner = names.last(node.func), node.args[-1:]
        if number := _NUMBERS.get(function if len(node.args) == 1 else ""):
            return inner[0], number
        number = (
            _NUMBERS.get(names.last(node.args[0])) if function == "map" and len(node.args) == _WITH_FUNCTION else None
        )
        return (inner[0], _all(number)) if number else None
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
        each = node.generators[0]
        plain = isinstance(node.elt, ast.Call) and [names.last(one) for one in node.elt.args] == [
            names.last(each.target)
        ]
        number = _NUMBERS.get(names.last(node.elt.func)) if isinstance(node.elt, ast.Call) and plain else None
        return (each.iter, _all(number)) if number and not each.ifs else None
    return None


def _is_plain(target: ast.Tuple | ast.List) -> bool:
    return not any(isinstance(one, ast.Starred) for one in target.elts)


def _counted(held: Any, count: int) -> None:
    if len(held) != count:
        raise ValueError


def _all(number: Callable[[Any], float]) -> Callable[[Any], object]:
    return lambda held: [number(one) for one in held]


def _works(operand: ast.expr, effect: Callable[[Any], object], scope: Frame, values: _Values) -> bool:
    """Return whether an expression can be taken apart so; what is not known works."""
    try:
        effect(values.of(operand, scope))
    except (ValueError, IndexError, TypeError):
        return False
    except _UnknownError:
        return True
    return True


class _UnknownError(Exception):
    """An expression is no version that was read from metadata, nor made of one by what is known here."""


@dataclass(frozen=True)
class _Values:
    """What expressions are where the version of one project is a certain text.

    Args:
        reader: tells which expressions are that version.
        project: the project.
        version: the text.
    """

    reader: Reader
    project: str
    version: str

    def of_release(self) -> _Values:
        """Return the same for the version without its label."""
        return _Values(self.reader, self.project, versions.public(self.version))

    def of(self, node: ast.expr, scope: Frame, seen: frozenset[ast.AST] = frozenset()) -> Any:  # a text, or several
        """Return what an expression is; raises `_UnknownError` where that is not known, or what it raises."""
        if node in seen:
            raise _UnknownError
        seen |= {node}
        if isinstance(node, ast.Subscript):
            return self.of(node.value, scope, seen)[_item(node.slice)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            held = self.of(node.func.value, scope, seen)
            return getattr(held, node.func.attr)(
                *map(_literal, node.args), **{one.arg or "": _literal(one.value) for one in node.keywords}
            )
        if isinstance(node, ast.Call) and names.last(node.func) in _SAME and len(node.args) == 1:
            return self.of(node.args[0], scope, seen)
        if isinstance(node, ast.Name) and node.id not in scope.given:
            given = scope.values.get(node.id) or scope.module.values.get(node.id, [])
            if len(given) == 1:
                return self.of(given[0], scope, seen)
        elif self._is_version(node, scope):
            return self.version
        raise _UnknownError

    def _is_version(self, node: ast.expr, scope: Frame) -> bool:
        """Return whether an expression is the installed version itself: read from metadata, or given to a function."""
        held = self.reader.held(node, scope)
        if self.project not in held.projects or held.bare:
            return False
        given = [*node.args, *(one.value for one in node.keywords)] if isinstance(node, ast.Call) else []
        return not any(self.reader.held(one, scope).projects for one in given)


def _item(index: ast.expr) -> Any:  # a number, or a slice
    if isinstance(index, ast.Slice):
        return slice(*(part and _literal(part) for part in (index.lower, index.upper, index.step)))
    return _literal(index)


def _literal(node: ast.expr) -> Any:  # whatever is written
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise _UnknownError from None
