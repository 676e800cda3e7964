"""Equivalence: whether two texts of a module are one program, wherever imports and additions stand."""

from __future__ import annotations

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import TypeAlias, TypeGuard

from npu_overlays.authoring.refresh.edited_files import EditedFile
from npu_overlays.model.definitions import FUNCTIONS, bound_name, stored_names
from npu_overlays.model.module import Module
from npu_overlays.overlay.operations import ImportedName, imported_names
from npu_overlays.sources.tree import PatchedTree

_BUILTIN = frozenset(dir(builtins))
# What these return depends on every name that was bound before.
_LISTING = frozenset({"dir", "globals", "locals", "vars"})

# The statements whose order counts, those that may stand anywhere, and pairs whose first must stand first.
_Outline: TypeAlias = tuple[list[object], list[str], list[tuple[str, str]]]


def unlike(tree: PatchedTree, edited: Sequence[EditedFile], *, besides: PatchedTree) -> list[str]:
    """Return the paths of files that a tree does not have as they should be.

    Args:
        tree: what an overlay gives.
        edited: files as they should be: the same bytes, or for a module of upstream's, the same program.
        besides: the tree that all other files should be like.
    """
    wrong = [one.path for one in edited if not _is_given(tree, one)]
    paths = {*tree.changed, *besides.changed}.difference(one.path for one in edited)
    return wrong + [path for path in sorted(paths) if tree.after(path) != besides.after(path)]


def _is_given(tree: PatchedTree, one: EditedFile) -> bool:
    after, before = tree.after(one.path), tree.before(one.path)
    if after == one.content:
        return True
    if after is None or one.content is None or before is None or not one.path.endswith(".py"):
        return False
    return same_program(after, one.content, Module(one.path, before).definitions.keys())


def same_program(one: bytes, other: bytes, known: Set[str]) -> bool:
    """Return whether two modules are the same program.

    Comments and layout do not count. What upstream's module does not define may stand anywhere, as an operation adds it
    where it has to, and imports of Python's own modules anywhere among the imports around them. But the order of two
    statements counts where both bind one name, one reads what the other binds, or one acts on what the other reads, as
    a decorator that registers does; so does the order of a class's values, if the class may depend on it, and whether
    another module is imported before or after something was done.

    Args:
        one: a module.
        other: another.
        known: what upstream's module defines, by qualified name.
    """
    return one == other or _outline(ast.parse(one).body, known) == _outline(ast.parse(other).body, known)


def plain_imports(tree: ast.Module) -> Iterator[ImportedName]:
    """Yield each name that an import of a module binds under no condition."""
    for node in tree.body:
        if _is_plain(node):
            yield from imported_names(node)


@dataclass(frozen=True, kw_only=True)
class _Item:
    """A statement, or one name that an import of a module binds."""

    text: str  # its code, as a canonical text
    code: object  # the same, with an outline for the body of a class; None for an import of a module
    # Whether it may stand anywhere, except before or after those it must follow or precede.
    free: bool
    binds: frozenset[str]
    reads: frozenset[str] = frozenset()  # the names it reads when it runs, not only when it is called
    touches: frozenset[str] = frozenset()  # those of them that it may change
    loads: bool = False  # whether it runs a module that may depend on what was done before; Python's own do not
    acts: bool = False  # whether other modules may find something different once it has run
    field: bool = False  # whether it is a value of a class that may depend on the order of its values
    lists: bool = False  # whether it asks which names there are

    def has_order_with(self, other: _Item) -> bool:
        """Return whether it matters which of the two stands first."""
        bound = self.binds & (other.binds | other.reads) or other.binds & self.reads
        touched = self.touches & other.reads or other.touches & self.reads
        prepared = (self.acts and other.loads) or (other.acts and self.loads)
        listed = (self.lists and other.binds) or (other.lists and self.binds)
        return bool(bound or touched or prepared or listed or (self.field and other.field))


def _outline(nodes: Iterable[ast.stmt], known: Set[str], parent: str = "", *, fields: bool = False) -> _Outline:
    """Return the statements of a body as a value that is equal for bodies of one meaning.

    `parent` is the qualified name of the class around them, with a dot behind it; `fields` is whether that class may
    depend on the order of its values.
    """
    items: list[_Item] = []
    for node in nodes:
        items += _items(node, known, parent, fields=fields)
    numbers: Counter[str] = Counter()
    names: list[str] = []
    for item in items:
        numbers[item.text] += 1
        names.append(f"{item.text} {numbers[item.text]}")
    pairs: list[tuple[str, str]] = []
    for (name, one), (other_name, other) in combinations(zip(names, items, strict=True), 2):
        if (one.free or other.free) and one.has_order_with(other):
            pairs.append((name, other_name))
    ordered = list(_in_order(item for item in items if not item.free))
    return ordered, sorted(item.text for item in items if item.free), sorted(pairs)


def _in_order(items: Iterable[_Item]) -> Iterator[object]:
    """Yield the statements whose order counts; within a run of imports, Python's own modules may be swapped."""
    for are_imports, several in groupby(items, key=lambda item: item.code is None):
        run = list(several)
        if are_imports:
            # Of two that bind one name the first comes first.
            yield [one.text for one in sorted(run, key=lambda one: sorted(one.binds))]
            yield [one.text for one in run if one.loads]
        else:
            for one in run:
                yield one.code


def _items(node: ast.stmt, known: Set[str], parent: str, *, fields: bool) -> Iterator[_Item]:
    if _is_plain(node) and not parent:
        for one in imported_names(node):
            loads = one.statement.split()[1].partition(".")[0] not in sys.stdlib_module_names
            binds, free = frozenset([one.name]), one.name not in known
            yield _Item(text=one.statement, code=None, free=free, binds=binds, loads=loads)
        return
    names = list(_names_of(node))
    free = bool(names) and known.isdisjoint(f"{parent}{name}" for name in names)
    if isinstance(node, ast.ClassDef) and not free:
        yield _class(node, known, parent)
    elif not (parent and isinstance(node, ast.Pass)):  # which only holds a place
        text, read = ast.dump(node), frozenset(names_read(node))
        yield _Item(
            text=text,
            code=text,
            free=free,
            binds=frozenset(name.partition(".")[0] for name in names) or frozenset(bound_within(node)),
            reads=read - _BUILTIN,
            touches=frozenset(touched(node, within=parent)) - _BUILTIN,
            acts=acts(node),
            field=fields and isinstance(node, VALUES),
            lists=bool(read & _LISTING),
        )


def _class(node: ast.ClassDef, known: Set[str], parent: str) -> _Item:
    """Return a class of upstream's, whose members are compared one by one."""
    head = list(map(ast.dump, (*node.bases, *node.keywords, *node.decorator_list)))
    is_bare = not head or head == [ast.dump(ast.Name(id="object", ctx=ast.Load()))]
    inner = _outline(node.body, known, f"{parent}{node.name}.", fields=not is_bare)
    return _Item(
        text=f"class {node.name}",
        code=(node.name, head, inner),
        free=False,
        binds=frozenset([node.name]),
        reads=frozenset(names_read(node)) - _BUILTIN,
    )


def _names_of(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a definition or an assignment binds."""
    if isinstance(node, NAMED):
        yield node.name
    else:
        yield from stored_names(node)


def _is_plain(node: ast.stmt) -> TypeGuard[ast.Import | ast.ImportFrom]:
    """Return whether a statement of a module is an import that can stand elsewhere among the imports."""
    future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
    return isinstance(node, IMPORTS) and not future and all(alias.name != "*" for alias in node.names)


IMPORTS = (ast.Import, ast.ImportFrom)
NAMED = (*FUNCTIONS, ast.ClassDef)
VALUES = (ast.Assign, ast.AnnAssign)
# Decorators that change nothing but what they stand above.
_HARMLESS = frozenset(
    (
        *("abstractmethod", "cache", "cached_property", "classmethod", "contextmanager", "asynccontextmanager"),
        *("dataclass", "deprecated", "final", "getter", "inference_mode", "lru_cache", "no_grad", "overload"),
        *("override", "property", "runtime_checkable", "setter", "staticmethod", "total_ordering", "wraps"),
    )
)


def names_read(node: ast.AST) -> Iterator[str]:
    """Yield the names that are read when a statement runs, without those that functions read when they are called."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(node, (*FUNCTIONS, ast.Lambda)):
            continue
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            if isinstance(part, ast.AST):
                yield from names_read(part)


def bound_within(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds which is neither a definition nor an assignment."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id
        elif isinstance(part, NAMED):
            yield part.name
        elif isinstance(part, IMPORTS):
            for alias in part.names:
                yield bound_name(part, alias)


def acts(node: ast.stmt) -> bool:
    """Return whether other modules may find something different once a statement has run."""
    return _changes(node) and not _only_binds(node)


def _changes(node: ast.stmt) -> bool:
    """Return whether a statement may change something besides the names it binds, or holds others that may."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, VALUES):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return not all(isinstance(one, ast.Name) for one in targets)
    return not isinstance(node, (*NAMED, *IMPORTS))


def _only_binds(node: ast.stmt) -> bool:
    """Return whether a compound statement binds names on a condition, and does nothing more."""
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.stmt)]
    if isinstance(node, ast.Try):
        for handler in node.handlers:
            parts += handler.body
    working = [part for part in parts if not isinstance(part, (ast.Pass, ast.Raise))]
    return bool(parts) and not any(map(acts, working))


def touched(node: ast.stmt, *, within: str) -> Iterator[str]:
    """Yield the names of what a statement may change, in the body of a module or, with its name, of a class."""
    if _changes(node):
        yield from names_read(node)
    if isinstance(node, NAMED):
        for decorator in node.decorator_list:
            if _called(decorator) not in _HARMLESS:
                yield from names_read(decorator)
    if isinstance(node, ast.ClassDef):
        for keyword in node.keywords:
            yield from names_read(keyword)
    if within and isinstance(node, VALUES):
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                yield from names_read(part.func)


def _called(decorator: ast.expr) -> str:
    """Return the last part of a decorator's name."""
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return named.attr if isinstance(named, ast.Attribute) else named.id if isinstance(named, ast.Name) else ""
