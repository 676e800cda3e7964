"""The summary of generated modules and of changes made to them at random equals a comparison that shares no code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from npu_overlays.changes.module_comparison import compare_modules
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import plain

from .generated import modules
from .often import examples
from .test_generated import _valid

pytestmark = pytest.mark.slow

_BLOCKS = ("body", "orelse", "finalbody")
Table = dict[str, list[tuple[str, str]]]
thorough = settings(
    max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield every list of statements that is compared statement by statement."""
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from (block for name in _BLOCKS if isinstance(block := getattr(node, name, None), list) and block)


def _changed(data: st.DataObject, text: str) -> str:
    """Return a module in which some statements come, go, change, or stand in another place."""
    tree = ast.parse(text)
    for _ in range(data.draw(st.integers(0, 3))):
        blocks = list(_blocks(tree))
        if not blocks:
            break
        block, other = (data.draw(st.sampled_from(blocks)) for _ in range(2))
        number = data.draw(st.integers(0, len(block) - 1))
        how = data.draw(st.sampled_from(["swap", "delete", "move", "add", "change"]))
        event(how)
        if how == "swap":
            block.append(block.pop(number))
        elif how == "add":
            block.insert(
                number, ast.parse(data.draw(st.sampled_from(["n = 1", "def n(): pass", "n()", "pass"]))).body[0]
            )
        elif how == "change":
            block[number] = ast.parse(data.draw(st.sampled_from(["f = 7", "import x.z as z", "g()"]))).body[0]
        elif len(block) > 1:
            gone = block.pop(number)
            if how == "move" and not any(inner is other for inner in _blocks(gone)):
                other.insert(0, gone)
    return ast.unparse(ast.fix_missing_locations(tree))


def _normal(node: ast.AST) -> list[object]:
    """Return what a module, a class or a branch says, without what the summary calls formatting."""
    found: list[object] = []
    for name in (*_BLOCKS, "handlers"):
        inner: list[object] = []
        for number, one in enumerate(getattr(node, name, [])):
            is_text = isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
            has_docstring = isinstance(node, (ast.Module, ast.ClassDef)) and number == 0 and name == "body"
            if isinstance(one, ast.Pass) or (is_text and not (has_docstring and isinstance(one.value.value, str))):
                continue
            inner.extend(_said(one))
        found.append((name, inner))
    return found


def _said(one: ast.AST) -> list[object]:
    if isinstance(one, ast.Import):
        return [f"import {ast.dump(alias)}" for alias in one.names]
    if isinstance(one, (ast.ClassDef, ast.If, ast.Try, ast.With, ast.For, ast.ExceptHandler)):
        head = [ast.dump(value) for name, value in _fields(one) if name not in (*_BLOCKS, "handlers")]
        return [(type(one).__name__, getattr(one, "name", ""), head, _normal(one))]
    return [ast.dump(one)]


def _fields(one: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for name, value in ast.iter_fields(one):
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            if isinstance(part, ast.AST):
                yield name, part


@thorough
@given(modules().filter(_valid), st.data())
def test_nothing_is_told_only_where_nothing_differs(content: bytes, data: st.DataObject) -> None:
    before = ast.unparse(ast.parse(content))
    after = _changed(data, before)
    told = compare_modules(Module("a.py", before.encode()), Module("a.py", after.encode()))
    same = _normal(ast.parse(before)) == _normal(ast.parse(after))
    event(f"same: {same}")
    assert (told == ((), ())) is same


def _names(body: list[ast.stmt], scope: str, branch: str, found: Table) -> Table:
    """Return by qualified name (branch, text) of everything that binds it."""
    for one in body:
        for name, text in _bound(one):
            found.setdefault(scope + name, []).append((branch, text))
        if isinstance(one, ast.ClassDef):
            _names(one.body, f"{scope}{one.name}.", "", found)
        elif not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for field in _BLOCKS:
                _names(getattr(one, field, []), scope, f"{branch}/{type(one).__name__}.{field}", found)
            for handler in getattr(one, "handlers", []):
                _names(handler.body, scope, f"{branch}/except", found)
    return found


def _bound(one: ast.stmt) -> Iterator[tuple[str, str]]:
    if isinstance(one, ast.ClassDef):
        yield one.name, ""
    elif isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield one.name, ast.dump(one)
    elif isinstance(one, ast.Import):
        yield from ((alias.asname or alias.name.split(".")[0], ast.dump(alias)) for alias in one.names)
    elif isinstance(one, (ast.Assign, ast.AnnAssign)):
        targets = one.targets if isinstance(one, ast.Assign) else [one.target]
        for target in targets:
            yield ast.unparse(target), ast.dump(one)


@thorough
@given(modules().filter(_valid), st.data())
def test_the_names_told_are_those_that_differ(content: bytes, data: st.DataObject) -> None:
    before = ast.unparse(ast.parse(content))
    after = _changed(data, before)
    classes, module = compare_modules(Module("a.py", before.encode()), Module("a.py", after.encode()))
    told = [*module, *chain.from_iterable(entry.changes for entry in classes)]
    named = {(one.action, one.symbol) for one in told if one.kind in ("method", "attribute", "import", "class")}
    named = {(action, symbol) for action, symbol in named if symbol.rpartition(".")[2] not in _PARTS}
    named |= {(entry.action, entry.name) for entry in classes if entry.action != "updated"}
    old, new = (_names(ast.parse(text).body, "", "", {}) for text in (before, after))
    # Of a name with several definitions, each is told by itself.
    both = old.keys() & new.keys()
    named = {("replaced" if plain(one) != one and plain(one) in both else action, plain(one)) for action, one in named}
    expected = {("added", name) for name in new.keys() - old.keys()}
    expected |= {("deleted", name) for name in old.keys() - new.keys()}
    expected |= {
        ("replaced", name) for name in both if old[name] != new[name] and not _are_classes(old[name], new[name])
    }
    assert named == expected


_PARTS = ("__doc__", "__bases__", "__decorators__", "__order__")


def _are_classes(*sides: list[tuple[str, str]]) -> bool:
    return all(text == "" for _, text in chain.from_iterable(sides))
