"""Parted versions: the files of a distribution, never run → where they split an installed version and its label fails.

``5.10.4+npu.1.a8c5b99b`` has five parts between dots, and two of them are no numbers. So ``a, b, c = v.split(".")`` and
``tuple(map(int, v.split(".")))`` raise for our version and not for upstream's.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from npu_doctor import files, names, versions
from npu_doctor.expressions import Frame, Reader
from npu_doctor.names import Module
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
        module = names.module(path) if b"ersion" in content and quoted.search(content) else None
        if module:
            with contextlib.suppress(RecursionError):  # an expression of a thousand terms
                yield from list(_parted_in(module, reader, installed))


def _parted_in(module: Module, reader: Reader, installed: Mapping[str, str]) -> Iterator[Parted]:
    quoted = [node for node in module.nodes(installed) if isinstance(node, ast.Constant)]
    receivers = set[str]().union(*map(module.receivers, quoted))
    named = module.nodes(module.holders(receivers))
    found: dict[tuple[int, str], bool] = {}
    for node in module.enclosing([*quoted, *named], _TAKING):
        scope = reader.around(node, module)
        for project, version in installed.items():
            if _raises(node, scope, _Values(reader, project, version)):
                found.setdefault((node.lineno, project), not module.is_caught(node))
    for (line, project), refuses in found.items():
        yield Parted(path=module.path, line=line, project=project, refuses=refuses)


def _raises(node: ast.AST, scope: Frame, values: _Values) -> bool:
    """Return whether an expression, or the function that it calls, raises for a version and not for its release."""
    taken = _taken(node)
    if taken:
        release = replace(values, version=versions.public(values.version))
        return not _works(*taken, scope, values) and _works(*taken, scope, release)
    called = values.reader.called(node, scope) if isinstance(node, ast.Call) else None
    if called is None or not any(values.project in one.projects for one in called.given.values()):
        return False
    inside = [one for one in ast.walk(called.calls[-1]) if isinstance(one, _TAKING)]
    return any(_raises(one, called, values) for one in inside)


def _taken(node: ast.AST) -> tuple[ast.expr, Callable[[Any], object]] | None:
    """Return the operand that an expression splits or converts, and the operation; None for another expression."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, (ast.Tuple, ast.List)) and not any(
                isinstance(one, ast.Starred) for one in target.elts
            ):
                return node.value, partial(_unpack, len(target.elts))
    elif isinstance(node, ast.Call) and len(node.args) == 1:
        number = _NUMBERS.get(names.last(node.func))
        return (node.args[0], number) if number else None
    elif isinstance(node, ast.Call) and names.last(node.func) == "map" and len(node.args) == _WITH_FUNCTION:
        number = _NUMBERS.get(names.last(node.args[0]))
        return (node.args[1], partial(_convert, number)) if number else None
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp)) and isinstance(node.elt, ast.Call):
        each, *more = node.generators
        number = _NUMBERS.get(names.last(node.elt.func))
        plain = len(node.elt.args) == 1 and names.last(node.elt.args[0]) == names.last(each.target)
        if number and plain and not more and not each.ifs:
            return each.iter, partial(_convert, number)
    return None


def _unpack(count: int, held: Any) -> None:
    if len(held) != count:
        raise ValueError


def _convert(number: Callable[[Any], float], held: Any) -> list[float]:
    return [number(one) for one in held]


def _works(operand: ast.expr, effect: Callable[[Any], object], scope: Frame, values: _Values) -> bool:
    """Return whether an operation succeeds on an expression; True where the value of the expression is not known."""
    try:
        effect(values.of(operand, scope))
    except (AttributeError, IndexError, TypeError, ValueError):
        return False
    except _UnknownError:
        return True
    return True


class _UnknownError(Exception):
    """An expression is neither a version read from metadata nor computed from one by a known method."""


@dataclass(frozen=True)
class _Values:
    """The values of expressions, given the version of one project.

    Args:
        reader: tells which expressions are that version.
        project: the project.
        version: the text.
    """

    reader: Reader
    project: str
    version: str

    def of(self, node: ast.expr, scope: Frame, seen: frozenset[ast.AST] = frozenset()) -> Any:  # a text, or several
        """Return the value of an expression; raises what the expression raises, or `_UnknownError`."""
        if node in seen:
            raise _UnknownError
        seen |= {node}
        if isinstance(node, ast.Subscript) and not self.reader.held(node.value, scope).records:
            return self.of(node.value, scope, seen)[_item(node.slice)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            held = self.of(node.func.value, scope, seen)
            options = {one.arg or "": _literal(one.value) for one in node.keywords}
            return getattr(held, node.func.attr)(*map(_literal, node.args), **options)
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
        given = names.arguments(node) if isinstance(node, ast.Call) else []
        return not any(self.reader.held(one, scope).projects for one in given)


def _item(index: ast.expr) -> Any:  # a number, or a slice
    if isinstance(index, ast.Slice):
        parts = [part and _literal(part) for part in (index.lower, index.upper, index.step)]
        return slice(*parts)
    return _literal(index)


def _literal(node: ast.expr) -> Any:  # any literal
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise _UnknownError from None
