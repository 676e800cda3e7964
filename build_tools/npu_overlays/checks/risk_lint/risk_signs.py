"""Risk signs: statement → the names it sets, computes or calls whose mistakes make nothing fail.

Names decide. A statement touches a name that it assigns, deletes, changes in place or computes with, a key or keyword
that it sets, and a function that it calls. It does not touch names that it only reads, passes on under their own name
or compares.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from npu_overlays.checks.risk_lint.statement_diff import CodeStatement, as_text
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.functions import nodes_run
from npu_overlays.model.imports import all_imported
from npu_overlays.model.syntax import elements, is_name, last_name, text_of

Imports: TypeAlias = Mapping[str, str]
# A name, and what it stands in.
_Named: TypeAlias = tuple[str, ast.AST]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# The words in a row by which a name shows a kind of risk, and that kind.
_KIND = {
    **dict.fromkeys(("advantage", "advantages", "adv", "gae"), "advantage"),
    **dict.fromkeys(("checkpoint", "checkpoints", "ckpt", "ckpts", "state dict", "save pretrained"), "checkpoint"),
    **dict.fromkeys(("loss", "losses", "kl", "nll", "cross entropy"), "loss"),
    **dict.fromkeys(("reward", "rewards", "compute score", "rm score", "rm scores", "token level scores"), "reward"),
    **dict.fromkeys(("seed", "seeds", "seeded", "seeding", "rng"), "seed"),
}
# The kinds that names show; taking such a name away is as risky as changing it.
NAMED_KINDS = frozenset(_KIND.values())
_LONGEST = max(words.count(" ") for words in _KIND) + 1
# What computes activations again in the backward pass is called a checkpoint too.
_NO_CHECKPOINT = frozenset({"gradient", "activation", "activations", "recompute"})
# They leave their result in their first argument.
_IN_PLACE = frozenset({"all_reduce", "reduce", "broadcast", "all_gather_into_tensor"})
_BY_NAME = frozenset({"setattr", "delattr", "update"})

_DEBUGGERS = frozenset({"pdb", "ipdb", "pudb", "debugpy", "pydevd", "remote_pdb", "web_pdb"})
_STOPPING = frozenset({"breakpoint", "set_trace", "post_mortem"})
_PRINTING = frozenset({("print",), ("builtins", "print"), ("pprint", "pprint"), ("pprint", "pp"), ("rich", "print")})
# Functions and methods of any object that draw numbers.
_DRAWING = frozenset(
    {"rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm", "randrange", "random_sample"}
    | {"shuffle", "multinomial", "bernoulli", "bernoulli_", "uniform_", "normal_", "random_", "exponential_"}
)
_SEEDING = frozenset({"seed", "manual_seed", "getstate", "setstate", "get_state", "set_state", "Random", "Generator"})
# A handler of one of these catches everything, or every error of torch and the device.
_BROAD = frozenset({"Exception", "BaseException", "RuntimeError"})
_LOGGING = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical", "log", "print"})
_ENDING = frozenset({"exit", "_exit", "abort"})


def kinds_of_name(name: str) -> Iterator[str]:
    """Yield the kinds of risk that a name shows by its words."""
    words = [word.lower() for word in _WORD.findall(name)]
    for start in range(len(words)):
        for end in range(start + 1, min(start + _LONGEST, len(words)) + 1):
            kind = _KIND.get(" ".join(words[start:end]))
            if kind and not (kind == "checkpoint" and _NO_CHECKPOINT & set(words[:start])):
                yield kind


def kinds_of_path(path: str) -> Iterator[str]:
    """Yield the kinds of risk that a repository path shows, by its folders and by its name without the ending."""
    folder, _, leaf = path.rpartition("/")
    for part in (*folder.split("/"), leaf.partition(".")[0]):
        yield from kinds_of_name(part)


def imports_of(nodes: Iterable[ast.AST]) -> Imports:
    """Return the full name of each absolute import among a module's nodes, by the bound name."""
    return {one.local: one.full for one in all_imported(nodes, "", package=False) if one.module}


def risk_signs(statement: CodeStatement, imports: Imports) -> Iterator[tuple[str, str]]:
    """Yield the kinds of risk that a statement shows, each with the code that shows it.

    Args:
        statement: it.
        imports: of its module.
    """
    if _swallows(statement.node):
        yield "exception", statement.text
    for node in chain.from_iterable(map(ast.walk, statement.parts)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _imported_debuggers(node)
        elif isinstance(node, ast.Call) and (names := _full_chain(node.func, imports)):
            for kind in _kinds_of_call(node, names):
                yield kind, as_text(node)
    if isinstance(statement.node, (*FUNCTIONS, ast.ClassDef)):
        for kind in kinds_of_name(statement.node.name):
            yield kind, statement.text
    for name, shown in _touched(statement, imports):
        for kind in kinds_of_name(name):
            yield kind, as_text(shown)


def _touched(statement: CodeStatement, imports: Imports) -> Iterator[_Named]:
    """Yield the names that a statement sets, calls and computes with."""
    for part in statement.parts:
        for node in ast.walk(part):
            yield from _set(node, part)
            yield from _called(node, imports)
            yield from _computed(node)


def _imported_debuggers(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield the debuggers that a statement imports, each with its kind."""
    modules = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    for module in modules:
        if module.partition(".")[0] in _DEBUGGERS:
            yield "debugger", module


def _kinds_of_call(call: ast.Call, names: tuple[str, ...]) -> Iterator[str]:
    if names[0] in _DEBUGGERS or names[-1] in _STOPPING or names[:2] == ("IPython", "embed"):
        yield "debugger"
    elif names in _PRINTING:
        yield "print"
    # A function of the module's own may be called as it likes.
    elif len(names) > 1 and names[-1] not in _SEEDING and (names[-1] in _DRAWING or "random" in names[:-1]):
        yield "random"
    if names[-1] == "suppress" and not _BROAD.isdisjoint(map(last_name, call.args)):
        yield "exception"


def _swallows(node: ast.AST) -> bool:
    """Return whether a statement swallows an error: it neither raises nor uses it."""
    if isinstance(node, ast.Try):
        return any(isinstance(one, (ast.Return, ast.Break, ast.Continue)) for one in nodes_run(node.finalbody))
    if not isinstance(node, ast.ExceptHandler):
        return False
    if node.type is not None and _BROAD.isdisjoint(map(last_name, elements(node.type))):
        return False
    for one in nodes_run(node.body):
        if isinstance(one, ast.Raise) or (isinstance(one, ast.Call) and last_name(one.func) in _ENDING):
            return False
    return not _uses_error(node)


def _uses_error(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler uses the error, beyond logging it or a bare mention."""
    passed_over: set[ast.AST] = set()
    for node in nodes_run(handler.body):
        logs = isinstance(node, ast.Call) and last_name(node.func) in _LOGGING
        if logs or _does_nothing(node):
            passed_over.update(ast.walk(node))
    for node in chain.from_iterable(map(ast.walk, handler.body)):
        is_read = isinstance(node, ast.Name) and node.id == handler.name and isinstance(node.ctx, ast.Load)
        if is_read and node not in passed_over:
            return True
    return False


def _does_nothing(node: ast.AST) -> bool:
    """Return whether a statement has no effect: a bare name, or an assignment to `_`."""
    if isinstance(node, ast.Assign):
        return all(is_name(one, "_") for one in node.targets)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Name)


def _set(node: ast.AST, whole: ast.AST) -> Iterator[_Named]:
    """Yield the names and keys that a statement sets or deletes."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
        for name in _names_of(node):
            yield name, whole
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if text := text_of(key):
                yield text, ast.Dict(keys=[key], values=[value])


def _called(node: ast.AST, imports: Imports) -> Iterator[_Named]:
    """Yield the called function, its keywords, and the names that it changes in place or by name."""
    if not isinstance(node, ast.Call):
        return
    names = _full_chain(node.func, imports)
    leaf = names[-1] if names else ""
    # torch.utils.checkpoint computes activations again, and keeps nothing.
    if names and names[:-2] != ("torch", "utils"):
        yield leaf, node
    for keyword in node.keywords:
        if keyword.arg and keyword.arg != last_name(keyword.value):  # else it is passed on
            yield keyword.arg, keyword
    changed: list[str] = []
    if leaf in _BY_NAME:
        changed += map(text_of, node.args)
    if leaf in _IN_PLACE and node.args:
        changed += _names_of(node.args[0])
    if isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_") and not node.func.attr.endswith("__"):
        changed += _names_of(node.func.value)
    for name in changed:
        yield name, node


def _computed(node: ast.AST) -> Iterator[_Named]:
    """Yield the names that are computed with."""
    operands: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        operands = [node.operand]
    for name in chain.from_iterable(map(_names_of, operands)):
        yield name, node


def _names_of(node: ast.expr) -> Iterator[str]:
    """Yield the names of an expression: ``a.b`` b, ``batch["key"]`` key and batch, and ``loss[mask]`` loss."""
    while isinstance(node, ast.Subscript):
        yield text_of(node.slice)
        node = node.value
    yield last_name(node)


def _chain(node: ast.AST | None) -> tuple[str, ...]:
    """Return the names of ``a.b.c``; of ``f().c`` only the last ones."""
    if isinstance(node, ast.Attribute):
        return (*_chain(node.value), node.attr)
    return (node.id,) if isinstance(node, ast.Name) else ()


def _full_chain(node: ast.AST | None, imports: Imports) -> tuple[str, ...]:
    """Return the names of ``a.b.c`` with what its first one was imported as."""
    names = _chain(node)
    return (*imports.get(names[0], names[0]).split("."), *names[1:]) if names else ()
