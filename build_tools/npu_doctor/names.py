"""Names: a module's text → what its names stand for: functions, the values they are given, imports. Nothing is run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, repeat

from npu_doctor import files, syntax
from npu_doctor.packages import Packages

Function = ast.FunctionDef | ast.AsyncFunctionDef
_HOPS = 5  # imports of imports
# What these do is known by their names.
_UNREAD = sys.stdlib_module_names | {"importlib_metadata", "pkg_resources"}


@dataclass(frozen=True, eq=False)
class Module:
    """The names of one file."""

    path: str  # the file
    tree: ast.Module  # its syntax

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        """Its functions and methods; of several of a name the last."""
        return {node.name: node for node in self._parents if isinstance(node, Function)}

    @cached_property
    def imports(self) -> Mapping[str, tuple[int, str]]:
        """For each name imported anywhere in it, how many folders up to start, and the dotted name from there."""
        found: dict[str, tuple[int, str]] = {}
        for node in self._parents:
            if isinstance(node, ast.ImportFrom):
                home = f"{node.module}." if node.module else ""
                found |= {one.asname or one.name: (node.level, f"{home}{one.name}") for one in node.names}
            elif isinstance(node, ast.Import):
                for one in node.names:
                    first = one.name.partition(".")[0]
                    found[one.asname or first] = (0, one.name if one.asname else first)
        return found

    @cached_property
    def values(self) -> Mapping[str, list[ast.expr]]:
        """What names outside functions are given, and attributes anywhere."""
        found = values_in(self.tree, functions=False)
        for node in self._parents:
            for target, value in _given(node):
                if isinstance(target, ast.Attribute):
                    found.setdefault(target.attr, []).append(value)
        return found

    @cached_property
    def words(self) -> Mapping[str, list[ast.AST]]:
        """Where each name, attribute and text stands."""
        found: dict[str, list[ast.AST]] = {}
        for node in self._parents:
            text = node.value if isinstance(node, ast.Constant) else last(node)
            if isinstance(text, str) and text:
                found.setdefault(text, []).append(node)
        return found

    @cached_property
    def _parents(self) -> Mapping[ast.AST, ast.AST]:
        found: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            found.update(dict.fromkeys(ast.iter_child_nodes(node), node))
        return found

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what a node stands in, the innermost first."""
        while node in self._parents:
            node = self._parents[node]
            yield node

    def nodes(self, words: Iterable[str]) -> list[ast.AST]:
        """Return the places of names, attributes and texts."""
        return list(chain.from_iterable(self.words.get(word, ()) for word in words))

    def enclosing(
        self, nodes: Iterable[ast.AST], kinds: tuple[type[ast.expr | ast.stmt], ...]
    ) -> list[ast.expr | ast.stmt]:
        """Return the nodes of these kinds that contain one of the given nodes, in the order of the file."""
        found: set[ast.expr | ast.stmt] = set()
        for node in nodes:
            found.update(one for one in self.around(node) if isinstance(one, kinds))
        return sorted(found, key=lambda one: (one.lineno, one.col_offset))

    def is_caught(self, node: ast.AST) -> bool:
        """Return whether a `try` with handlers contains a node."""
        return any(getattr(one, "handlers", ()) for one in self.around(node))

    def receivers(self, node: ast.AST) -> set[str]:
        """Return the names and attributes that are given a value in which a node stands."""
        found: set[str] = set()
        for outside in self.around(node):
            found |= {last(target) for target, value in _given(outside) if value is node}
            node = outside
        return found

    def holders(self, words: Iterable[str]) -> set[str]:
        """Return those of the words that stand here, and the names that are given one, or given such a name."""
        waiting = [word for word in words if word in self.words]
        found = set(waiting)
        while waiting:
            given = set[str]().union(*map(self.receivers, self.nodes([waiting.pop()]))) - found
            found |= given
            waiting += given
        return found


@cache
def module(path: str) -> Module | None:
    """Return a file's names; None where it is no Python."""
    tree = syntax.tree(path)
    return Module(path, tree) if tree else None


def resolve(parts: Sequence[str], home: Module, packages: Packages, hops: int = _HOPS) -> tuple[Module | None, str]:
    """Return what a dotted name stands for in a module: the module that defines it and its name there.

    Where no file that was found defines it: None, and the whole name as it is imported. An attribute of an unknown
    object stands for the module's own function or method of that name.
    """
    if not parts or parts[0] not in home.imports:
        own = len(parts) == 1 or (parts and parts[-1] in home.functions)
        return (home, parts[-1]) if own else (None, ".".join(parts))
    up, imported = home.imports[parts[0]]
    found = [*imported.split("."), *parts[1:]]
    ends = range(len(found) - 1, -1 if up else 0, -1)
    homes = ((end, _imported(up, found[:end], home.path, packages)) for end in ends)
    for end, there in homes:
        if there and hops and (end == len(found) - 1 or found[end] in there.imports or found[-1] in there.functions):
            defined, name = resolve(found[end:], there, packages, hops - 1)
            return (defined, name) if defined or found[end] in there.imports else (None, ".".join(found))
    return None, ".".join(found)


def _imported(up: int, parts: Sequence[str], path: str, packages: Packages) -> Module | None:
    """Return the module that an import names: below the folder so many above a file, or on the path for 0."""
    if not up:
        located = None if parts[0] in _UNREAD else packages.locate(".".join(parts))
        return module(located.file) if located and located.file.endswith(".py") else None
    folder = "/".join([*path.split("/")[:-up], *parts])
    return module(f"{folder}.py" if files.is_file(f"{folder}.py") else f"{folder}/__init__.py")


def values_in(scope: ast.AST, *, functions: bool = True) -> dict[str, list[ast.expr]]:
    """Return what the names of a scope are given, defaults too; of functions inside it, where that is asked."""
    found: dict[str, list[ast.expr]] = {}
    waiting = [scope]
    while waiting:
        node = waiting.pop()
        for target, value in _given(node):
            if isinstance(target, (ast.Name, ast.arg)):
                found.setdefault(last(target), []).append(value)
        waiting += [one for one in ast.iter_child_nodes(node) if functions or not isinstance(one, Function)]
    return found


def _given(node: ast.AST) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Yield the names and attributes that a node gives a value, with it; each of a tuple is given the whole value."""
    targets: list[ast.expr] = []
    value: ast.expr | None = None
    if isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        targets, value = [node.target], node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        targets, value = [node.target], node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars:
        targets, value = [node.optional_vars], node.context_expr
    elif isinstance(node, ast.arguments):
        plain = [*node.posonlyargs, *node.args]
        yield from zip(reversed(plain), reversed(node.defaults), strict=False)
        for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
            if default:
                yield argument, default
    if value:
        yield from zip(chain.from_iterable(map(_targets, targets)), repeat(value))


def _targets(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for one in target.elts:
            yield from _targets(one)
    elif isinstance(target, (ast.Subscript, ast.Starred)):
        yield from _targets(target.value)
    else:
        yield target


def arguments(call: ast.Call) -> list[ast.expr]:
    """Return the values that a call passes, by position and by name."""
    return [*call.args, *(one.value for one in call.keywords)]


def spread(call: ast.Call) -> list[ast.expr]:
    """Return the values that a call spreads by `*` and `**`."""
    named = [one.value for one in call.keywords if one.arg is None]
    return [*(one for one in call.args if isinstance(one, ast.Starred)), *named]


def parameters(function: Function) -> list[str]:
    """Return the names of the parameters that can be given by position, but for the one of a method's object."""
    found = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    return found[1:] if found[:1] in (["self"], ["cls"]) else found


def last(node: ast.AST) -> str:
    """Return a name, or the last part of a dotted one; empty for another expression."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else ""


def dotted(node: ast.AST) -> list[str]:
    """Return the parts of a dotted name; none for another expression."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return [*before, node.attr] if before else []
    return [node.id] if isinstance(node, ast.Name) else []
