"""Risk signs: statement → what it sets, computes or calls that fails nowhere when it is wrong, and what it brings in.

Names decide what a statement touches: a name that it gives a value, deletes, changes in place or computes with, a key
or a keyword that it gives one, and a function that it calls. What it only reads, passes on under its own name or
compares, it does not touch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from npu_overlays.checks.risk_lint.statement_diff import CodeStatement, as_text
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.imports import all_imported

Imports: TypeAlias = Mapping[str, str]
# A name, and what it stands in.
_Named: TypeAlias = tuple[str, ast.AST]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Kinds of risk, and the words in a row that a name of each has.
_WORDS = {
    "advantage": ("advantage", "advantages", "adv", "gae"),
    "checkpoint": ("checkpoint", "checkpoints", "ckpt", "ckpts", "state dict", "save pretrained"),
    "loss": ("loss", "losses", "kl", "nll", "cross entropy"),
    "reward": ("reward", "rewards", "compute score", "rm score", "rm scores", "token level scores"),
    "seed": ("seed", "seeds", "seeded", "seeding", "rng"),
}
_KIND = {words: kind for kind, listed in _WORDS.items() for words in listed}
# The kinds that names show; taking such a name away is as risky as changing it.
NAMED_KINDS = frozenset(_WORDS)
_LONGEST = max(words.count(" ") for words in _KIND) + 1
# What computes activations again in the backward pass is called a checkpoint too.
_NO_CHECKPOINT = frozenset({"gradient", "activation", "activations", "recompute"})
# They leave their result in their first argument.
_IN_PLACE = frozenset({"all_reduce", "reduce", "broadcast", "all_gather_into_tensor"})
_BY_NAME = frozenset({"setattr", "delattr", "update"})

_DEBUGGERS = frozenset({"pdb", "ipdb", "pudb", "debugpy", "pydevd", "remote_pdb", "web_pdb"})
_STOPPING = frozenset({"breakpoint", "set_trace", "post_mortem"})
_PRINTING = frozenset({("print",), ("builtins", "print"), ("pprint", "pprint"), ("pprint", "pp"), ("rich", "print")})
# Functions and methods that draw numbers, whatever they are called on.
_DRAWING = frozenset(
    {"rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm", "randrange", "random_sample"}
    | {"shuffle", "multinomial", "bernoulli", "bernoulli_", "uniform_", "normal_", "random_", "exponential_"}
)
_SEEDING = frozenset({"seed", "manual_seed", "getstate", "setstate", "get_state", "set_state", "Random", "Generator"})
# Who catches one of these catches everything, or all that torch and the device report.
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


def imports_of(tree: ast.AST) -> Imports:
    """Return by the name that it binds what each absolute import in a module brings, in full."""
    return {one.local: one.full for one in all_imported(tree, "", package=False) if one.module}


def risk_signs(statement: CodeStatement, imports: Imports) -> Iterator[tuple[str, str]]:
    """Yield the kinds of risk that a statement shows, each with the code that shows it.

    Args:
        statement: it.
        imports: of its module.
    """
    if _swallows(statement.node):
        yield "exception", statement.text
    nodes = [(node, part) for part in statement.parts for node in ast.walk(part)]
    for node, _ in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            modules = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from (("debugger", one) for one in modules if one.partition(".")[0] in _DEBUGGERS)
        elif isinstance(node, ast.Call) and (names := _full_chain(node.func, imports)):
            yield from ((kind, as_text(node)) for kind in _kinds_of_call(node, names))
    if isinstance(statement.node, (*FUNCTIONS, ast.ClassDef)):
        yield from ((kind, statement.text) for kind in kinds_of_name(statement.node.name))
    for node, part in nodes:
        for name, shown in (*_set(node, part), *_called(node, imports), *_computed(node)):
            yield from ((kind, as_text(shown)) for kind in kinds_of_name(name))


def _kinds_of_call(call: ast.Call, names: tuple[str, ...]) -> Iterator[str]:
    if names[0] in _DEBUGGERS or names[-1] in _STOPPING or names[:2] == ("IPython", "embed"):
        yield "debugger"
    elif names in _PRINTING:
        yield "print"
    # A function of the module's own may be called as it likes.
    elif len(names) > 1 and names[-1] not in _SEEDING and (names[-1] in _DRAWING or "random" in names[:-1]):
        yield "random"
    if names[-1] == "suppress" and any(_leaf(one) in _BROAD for one in call.args):
        yield "exception"


def _swallows(node: ast.AST) -> bool:
    """Return whether an error that a statement meets is lost: neither raised again, nor kept for anybody."""
    if isinstance(node, ast.Try):
        return any(isinstance(one, (ast.Return, ast.Break, ast.Continue)) for one in _own_nodes(node.finalbody))
    if not isinstance(node, ast.ExceptHandler):
        return False
    caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    if not any(one is None or _leaf(one) in _BROAD for one in caught):
        return False
    for one in _own_nodes(node.body):
        if isinstance(one, ast.Raise) or (isinstance(one, ast.Call) and _leaf(one.func) in _ENDING):
            return False
    return not _uses_error(node)


def _own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield what stands in statements, but not in functions inside them."""
    pending: list[ast.AST] = [*body]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            pending += ast.iter_child_nodes(node)


def _uses_error(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler does something with the error beside logging it, or naming it alone."""
    passed_over: set[ast.AST] = set()
    for node in _own_nodes(handler.body):
        logs = isinstance(node, ast.Call) and _leaf(node.func) in _LOGGING
        if logs or _does_nothing(node):
            passed_over.update(ast.walk(node))
    names = (one for node in handler.body for one in ast.walk(node) if isinstance(one, ast.Name))
    read = (one for one in names if one.id == handler.name and isinstance(one.ctx, ast.Load))
    return any(one not in passed_over for one in read)


def _does_nothing(node: ast.AST) -> bool:
    """Return whether a statement does nothing with what it names: the name alone, or a value that `_` is given."""
    if isinstance(node, ast.Assign):
        return all(isinstance(one, ast.Name) and one.id == "_" for one in node.targets)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Name)


def _set(node: ast.AST, whole: ast.AST) -> Iterator[_Named]:
    """Yield the names and keys that something gives a value to, or deletes."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
        yield from ((name, whole) for name in _names_of(node))
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, ast.Dict(keys=[key], values=[value])


def _called(node: ast.AST, imports: Imports) -> Iterator[_Named]:
    """Yield the function that is called, its keywords, and what it changes in place or by name."""
    if not isinstance(node, ast.Call):
        return
    names = _full_chain(node.func, imports)
    leaf = next(iter(names[-1:]), "")
    # torch.utils.checkpoint computes activations again, and keeps nothing.
    if names and names[:-2] != ("torch", "utils"):
        yield leaf, node
    for keyword in node.keywords:
        if keyword.arg and keyword.arg != _leaf(keyword.value):  # else it is passed on
            yield keyword.arg, keyword
    if leaf in _BY_NAME:
        texts = (one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str))
        yield from ((text, node) for text in texts)
    if leaf in _IN_PLACE and node.args:
        yield from ((name, node) for name in _names_of(node.args[0]))
    if isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_") and not node.func.attr.endswith("__"):
        yield from ((name, node) for name in _names_of(node.func.value))


def _computed(node: ast.AST) -> Iterator[_Named]:
    """Yield the names that are computed with."""
    if isinstance(node, ast.BinOp):
        yield from ((name, node) for name in (*_names_of(node.left), *_names_of(node.right)))
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        yield from ((name, node) for name in _names_of(node.operand))


def _names_of(node: ast.expr) -> Iterator[str]:
    """Yield how an expression is called: ``a.b`` b, ``batch["key"]`` key and batch, and ``loss[mask]`` loss."""
    if isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            yield node.slice.value
        yield from _names_of(node.value)
    else:
        yield from _chain(node)[-1:]


def _chain(node: ast.AST | None) -> tuple[str, ...]:
    """Return the names of ``a.b.c``; of ``f().c`` only the last ones."""
    if isinstance(node, ast.Attribute):
        return (*_chain(node.value), node.attr)
    return (node.id,) if isinstance(node, ast.Name) else ()


def _leaf(node: ast.AST | None) -> str:
    return next(iter(_chain(node)[-1:]), "")


def _full_chain(node: ast.AST | None, imports: Imports) -> tuple[str, ...]:
    """Return the names of ``a.b.c`` with what its first one was imported as."""
    names = _chain(node)
    return (*imports.get(names[0], names[0]).split("."), *names[1:]) if names else ()
