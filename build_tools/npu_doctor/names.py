"""Names: a module's text → what its names stand for: functions, the values they are given, imports. Nothing is run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from npu_doctor import files, syntax
from npu_doctor.packages import Packages

Function = ast.FunctionDef | ast.AsyncFunctionDef
_HOPS = 5  # imports of imports
_PROPERTIES = (["property"], ["cached_property"])
# What these do is known by their names.
_UNREAD = sys.stdlib_module_names | {"importlib_metadata", "pkg_resources", "packaging"}


class Element(ast.expr):
    """Any one of the values that an iterable holds; Python's own syntax has no node for it."""

    _fields = ("iterable",)

    def __init__(self, iterable: ast.expr) -> None:
        super().__init__()
        self.iterable = iterable


@dataclass(frozen=True, eq=False)
class ModuleNames:
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
        found = _values_in(self.tree, functions=False)
        for node in self._parents:
            for target, value in _given(node):
                if isinstance(target, ast.Attribute):
                    found.setdefault(target.attr, []).append(value)
        return found

    @cached_property
    def texts(self) -> frozenset[str]:
        """The texts in quotes."""
        constants = (node.value for node in self._parents if isinstance(node, ast.Constant))
        return frozenset(text for text in constants if isinstance(text, str))

    def holders(self, texts: Iterable[str]) -> set[str]:
        """Return texts, and the names and attributes that are given one of them, or given such a name."""
        found, before = set(texts), 0
        while before < len(found):
            before = len(found)
            found |= {name for name, words in self._words_given if not words.isdisjoint(found)}
        return found

    @cached_property
    def _words_given(self) -> list[tuple[str, set[str]]]:
        found: list[tuple[str, set[str]]] = []
        for node in self._parents:
            for target, value in _given(node):
                found += [(name, words_in(value)) for name in words_in(target)]
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

    def function_around(self, node: ast.AST) -> Function | None:
        """Return the innermost function that contains a node; None for the module's own code."""
        return next((one for one in self.around(node) if isinstance(one, Function)), None)

    def is_caught(self, node: ast.AST) -> bool:
        """Return whether a `try` with handlers contains a node."""
        return any(getattr(one, "handlers", ()) for one in self.around(node))


@cache
def module(path: str) -> ModuleNames | None:
    """Return a file's names; None where it is no Python."""
    tree = syntax.tree(path)
    return ModuleNames(path, tree) if tree else None


def resolve(
    parts: Sequence[str], home: ModuleNames, packages: Packages, hops: int = _HOPS
) -> tuple[ModuleNames | None, str]:
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


def _imported(up: int, parts: Sequence[str], path: str, packages: Packages) -> ModuleNames | None:
    """Return the module that an import names: below the folder so many above a file, or on the path for 0."""
    if not up:
        located = None if parts[0] in _UNREAD else packages.locate(".".join(parts))
        return module(located.file) if located and located.file.endswith(".py") else None
    folder = "/".join([*path.split("/")[:-up], *parts])
    return module(f"{folder}.py" if files.is_file(f"{folder}.py") else f"{folder}/__init__.py")


@cache
def values_of(function: Function) -> Mapping[str, list[ast.expr]]:
    """Return what the names of a function are given, the defaults of its parameters too."""
    return _values_in(function, functions=True)


def _values_in(scope: ast.AST, *, functions: bool) -> dict[str, list[ast.expr]]:
    """Return what the names of a scope are given, in the order of its text; of functions inside it, if asked."""
    found: dict[str, list[ast.expr]] = {}
    waiting = [scope]
    while waiting:
        node = waiting.pop(0)
        for target, value in _given(node):
            if isinstance(target, (ast.Name, ast.arg)):
                found.setdefault(target.id if isinstance(target, ast.Name) else target.arg, []).append(value)
        waiting += [one for one in ast.iter_child_nodes(node) if functions or not isinstance(one, Function)]
    return found


def _given(node: ast.AST) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Yield the names and attributes that a node gives a value, with it."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _taken_apart(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value:
        yield from _taken_apart(node.target, node.value)
    elif isinstance(node, ast.AugAssign):
        yield node.target, ast.BinOp(left=node.target, op=node.op, right=node.value)
    elif isinstance(node, (ast.For, ast.AsyncFor)) or (isinstance(node, ast.comprehension) and not node.ifs):
        yield from _taken_apart(node.target, Element(node.iter))
    elif isinstance(node, ast.arguments):
        plain = [*node.posonlyargs, *node.args]
        yield from zip(reversed(plain), reversed(node.defaults), strict=False)
        for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
            if default:
                yield argument, default


def _taken_apart(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield a target with its value: of several targets each with its part, of an item of a table with a table."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for place, one in enumerate(target.elts):
            yield from _taken_apart(one, ast.Subscript(value=value, slice=ast.Constant(place)))
    elif isinstance(target, ast.Subscript):
        yield from _taken_apart(target.value, ast.Dict(keys=[target.slice], values=[value]))
    elif not isinstance(target, ast.Starred):
        yield target, value


def words_in(node: ast.AST) -> set[str]:
    """Return the names, attributes and texts in code."""
    found: set[str] = set()
    for one in ast.walk(node):
        for name in ("id", "attr", "arg", "value"):
            word = getattr(one, name, None)
            if isinstance(word, str):
                found.add(word)
    return found


def is_property(function: Function) -> bool:
    """Return whether reading an attribute calls a function."""
    return any(dotted(one)[-1:] in _PROPERTIES for one in function.decorator_list)


def parameters(function: Function) -> list[str]:
    """Return the names of the parameters that can be given by position, but for the one of a method's object."""
    found = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    return found[1:] if found[:1] in (["self"], ["cls"]) else found


def dotted(node: ast.AST) -> list[str]:
    """Return the parts of a dotted name; none for another expression."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return [*before, node.attr] if before else []
    return [node.id] if isinstance(node, ast.Name) else []
