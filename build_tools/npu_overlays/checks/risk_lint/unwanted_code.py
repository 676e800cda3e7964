"""Unwanted code: statement → the chance, prints, debuggers and lost errors that it adds to training code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.checks.risk_lint.statement_diff import CodeStatement, as_text
from npu_overlays.checks.risk_lint.touched_names import Imports, chain, full_chain
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.imports import all_imported

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
_TELLING = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical", "log", "print"})
_ENDING = frozenset({"exit", "_exit", "abort"})


def imports_of(tree: ast.AST) -> Imports:
    """Return by the name that it binds what each absolute import in a module brings, in full."""
    return {one.local: one.full for one in all_imported(tree, "", package=False) if one.module}


def brought(statement: CodeStatement, imports: Imports) -> Iterator[tuple[str, str]]:
    """Yield the kinds of what a statement brings in, each with what shows that.

    Args:
        statement: it.
        imports: of its module.
    """
    if _swallows(statement.node):
        yield "exception", statement.text
    for part in statement.parts:
        for node in ast.walk(part):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                modules = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                yield from (("debugger", one) for one in modules if one.partition(".")[0] in _DEBUGGERS)
            elif isinstance(node, ast.Call) and (names := full_chain(node.func, imports)):
                yield from ((kind, as_text(node)) for kind in _kinds_of_call(node, names))


def _kinds_of_call(call: ast.Call, names: tuple[str, ...]) -> Iterator[str]:
    if names[0] in _DEBUGGERS or names[-1] in _STOPPING or names[:2] == ("IPython", "embed"):
        yield "debugger"
    elif names in _PRINTING:
        yield "print"
    elif _draws(names):
        yield "random"
    if names[-1] == "suppress" and any(_leaf(one) in _BROAD for one in call.args):
        yield "exception"


def _draws(names: tuple[str, ...]) -> bool:
    """Return whether a function draws numbers; one of the module's own is called what it likes."""
    if len(names) == 1 or names[-1] in _SEEDING:
        return False
    return names[-1] in _DRAWING or "random" in names[:-1]


def _swallows(node: ast.AST) -> bool:
    """Return whether an error that meets a statement is lost: neither raised again, nor kept for anybody."""
    if isinstance(node, ast.Try):
        return any(isinstance(one, (ast.Return, ast.Break, ast.Continue)) for one in _own(node.finalbody))
    if not isinstance(node, ast.ExceptHandler) or not _is_broad(node.type):
        return False
    return not any(isinstance(one, ast.Raise) or _ends(one) for one in _own(node.body)) and not _keeps(node)


def _is_broad(caught: ast.expr | None) -> bool:
    listed = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(one is None or _leaf(one) in _BROAD for one in listed)


def _leaf(node: ast.AST) -> str:
    return next(iter(chain(node)[-1:]), "")


def _own(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield what stands in statements, but not in functions inside them."""
    pending: list[ast.AST] = [*body]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            pending += ast.iter_child_nodes(node)


def _ends(node: ast.AST) -> bool:
    """Return whether a node ends the process."""
    return isinstance(node, ast.Call) and _leaf(node.func) in _ENDING


def _keeps(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler does something with the error beside telling it, or letting go of its name."""
    telling = (node for node in _own(handler.body) if isinstance(node, ast.Call) and _leaf(node.func) in _TELLING)
    idle = (node for node in _own(handler.body) if _is_idle(node))
    passed_over = {id(inner) for node in (*telling, *idle) for inner in ast.walk(node)}
    named = (one for node in handler.body for one in ast.walk(node) if isinstance(one, ast.Name))
    read = (one for one in named if one.id == handler.name and isinstance(one.ctx, ast.Load))
    return any(id(one) not in passed_over for one in read)


def _is_idle(node: ast.AST) -> bool:
    """Return whether a statement does nothing with what it names: the name alone, or a value that `_` is given."""
    if isinstance(node, ast.Assign):
        return all(isinstance(one, ast.Name) and one.id == "_" for one in node.targets)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Name)
