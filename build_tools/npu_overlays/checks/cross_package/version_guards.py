"""Version guards: module → its parts that run only for some versions, and the texts that its names stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from npu_overlays.checks.references import guarded_parts
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.exports import unevaluated
from npu_overlays.model.nodes import nodes_of

# What asks whether something is there; `getattr` mostly asks a configuration.
_ASKING = frozenset({"hasattr", "find_spec"})
_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError"})
_LEAVING = (ast.Return, ast.Raise)
_FAR = 3


def unsure_nodes(tree: ast.Module) -> set[ast.AST]:
    """Return every node that counts with what it needs not being there, is for certain versions, or does not run."""
    nodes = nodes_of(tree)
    # Each may call another one a condition: `NEW = version > 5`, `BOTH = NEW and OTHER`.
    conditions: set[str] = set()
    for _ in range(_FAR):
        conditions |= {name for node in nodes for name in _conditions(node, conditions)}
    parts = (part for node in nodes for part in (*guarded_parts(node), *_unsure_parts(node, conditions)))
    return {inner for part in parts for inner in nodes_of(part)} | unevaluated(tree)


def texts(tree: ast.Module) -> dict[str, str]:
    """Return the texts that a module's own names stand for, where they are given one once."""
    found: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for one in node.targets:
                if isinstance(one, ast.Name):
                    found.setdefault(one.id, []).append(node.value.value)
    return {name: those[0] for name, those in found.items() if len(those) == 1}


def _conditions(node: ast.AST, known: set[str]) -> Iterator[str]:
    """Yield the names that a statement makes stand for what depends on versions, or on what is there."""
    if isinstance(node, ast.Assign) and _is_answer(node.value) and _is_condition(node.value, known):
        yield from (one.id for one in node.targets if isinstance(one, ast.Name))


def _is_answer(value: ast.expr) -> bool:
    """Return whether a value may be the answer to such a question, and is not only made with one."""
    if isinstance(value, ast.Call):
        return _leaf(value.func) in _ASKING or "version" in _leaf(value.func).lower()
    return isinstance(value, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Name))


def _is_condition(test: ast.AST, conditions: set[str]) -> bool:
    """Return whether a test asks for a version, or whether something is there."""
    names = {*map(_leaf, ast.walk(test))}
    if names & conditions or any("version" in name.lower() for name in names):
        return True
    return any(
        isinstance(one, ast.Call) and _leaf(one.func) in _ASKING and not _asks_itself(one) for one in ast.walk(test)
    )


def _asks_itself(call: ast.Call) -> bool:
    """Return whether an object is asked for something of its own, as ``hasattr(self, …)``, and no distribution is."""
    return bool(call.args) and ast.unparse(call.args[0]).partition(".")[0] in ("self", "cls")


def _unsure_parts(node: ast.AST, conditions: set[str]) -> Iterator[ast.AST]:
    """Yield what below a node is for another version, or for when something else is not there."""
    if isinstance(node, ast.ExceptHandler) and node.type and _MISSING & {*map(_leaf, ast.walk(node.type))}:
        yield from node.body
    elif isinstance(node, ast.If) and _is_condition(node.test, conditions):
        yield from (*node.body, *node.orelse)
    elif isinstance(node, ast.IfExp) and _is_condition(node.test, conditions):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.BoolOp):
        asking = [number for number, value in enumerate(node.values) if _is_condition(value, conditions)]
        yield from node.values[asking[0] + 1 :] if asking else ()
    elif isinstance(node, FUNCTIONS):
        yield from _after_leaving(node.body, conditions)


def _after_leaving(body: Sequence[ast.stmt], conditions: set[str]) -> Sequence[ast.stmt]:
    """Return what of a function runs only where a test before it has not ended it."""
    for number, one in enumerate(body, start=1):
        if isinstance(one, ast.If) and _is_condition(one.test, conditions) and isinstance(one.body[-1], _LEAVING):
            return body[number:]
    return ()


def _leaf(node: ast.AST) -> str:
    return str(getattr(node, "id", getattr(node, "attr", "")))
