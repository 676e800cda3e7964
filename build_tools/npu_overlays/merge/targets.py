"""Targets: an operation's symbol and upstream's module → the one definition it applies to, or the reason why not."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from npu_overlays.errors import MergeError, Problem, suggestion
from npu_overlays.model.definitions import Definition
from npu_overlays.model.module import Module
from npu_overlays.model.scopes import Binding
from npu_overlays.model.selectors import chosen, leading, plain, selector
from npu_overlays.overlay.operations import Operation

# What a reader would not think of a definition, behind what leads to it.
_KINDS = {"function": "", "class": ", a class", "attribute": ", a value", "import": ", an import"}


def problem(operation: Operation, what: str, fix: str) -> Problem:
    """Return a problem of an operation, which names the target if a shared definition has several."""
    targets = (f"{operation.path}:{operation.symbol}",) if operation.shared else ()
    return Problem(where=operation.where, what=what, fix=fix, targets=targets)


def find(module: Module, operation: Operation, *, symbol: str = "") -> Definition:
    """Return the one definition that an operation's symbol (or `symbol`) means.

    Raises:
        MergeError: there is none, or there are several; or, without a selector, it or a class around it is conditional
            or has other bindings, so that the text is not what upstream's users get.
    """
    wanted = symbol or operation.symbol
    found = chosen(module, wanted)
    if len(found) != 1:
        raise MergeError(problem(operation, *_misnamed(module, wanted, found)))
    if operation.action == "deleted" and selector(wanted):
        return found[0]
    ask = _overwritten if selector(wanted) else _doubtful
    for one in found[0].around:
        if wrong := ask(module, one):
            raise MergeError(problem(operation, *wrong))
    return found[0]


def _misnamed(module: Module, symbol: str, found: Sequence[Definition]) -> tuple[str, str]:
    """Return what is wrong with a symbol that means none or several definitions, and what to do."""
    name, texts = plain(symbol), selector(symbol)
    known = module.definitions.get(name, [])
    if texts and known:
        number = f"{len(found)} definitions" if found else "no definition"
        what = f"{module.path} has {number} of `{name}` with {' and '.join(f'`{text}`' for text in texts)}"
        return f"{what}: {_listed(module, found or known)}", "name in where= what only one of them has, or its number"
    if known:
        return _several(module, name)
    if lines := sorted(binding.line for binding in module.other_bindings(name)):
        listed = ", ".join(map(str, lines))
        return f"{module.path} binds `{name}`, but by no definition of its own (line {listed})", "use a patch"
    nearest = module.nearest(name)
    return f"{module.path} has no `{name}`", suggestion(
        nearest, "correct the name, or move this to the file of the module that has it"
    )


def _doubtful(module: Module, definition: Definition) -> tuple[str, str] | None:
    """Return why a definition may not be what upstream's users get, and what to do; None if it certainly is."""
    alone = len(chosen(module, definition.name)) == 1 and not module.other_bindings(definition.name)
    return None if definition.is_certain and alone else _several(module, definition.name)


def _several(module: Module, name: str) -> tuple[str, str]:
    """Return that a name is defined more than once or conditionally, where and how, and how to choose."""
    known, others = chosen(module, name), module.other_bindings(name)
    often = f"{len(known) + len(others)} times" if len(known) > 1 or others else "under a condition"
    places = [_listed(module, known), *(f"line {one.line} (`{_by(one)}`)" for one in others)]
    what = f"{module.path} defines `{name}` {often}: {', '.join(places)}"
    texts = leading(module, known[0])
    fix = f"select one of them, such as with {_where(texts)}"
    return what, fix if texts[0].startswith("#") else f"{fix}, or by its number in the text, where='#1'"


def _where(texts: Sequence[str]) -> str:
    return f"where={texts[0]!r}" if len(texts) == 1 else f"where={list(texts)}"


def _by(binding: Binding) -> str:
    """Return what binds a name, as a message says it."""
    return "import *" if isinstance(binding.node, ast.ImportFrom) else binding.how


def _overwritten(module: Module, definition: Definition) -> tuple[str, str] | None:
    """Return that nothing uses a selected definition, and what to do; None if something may."""
    line = overwritten(module, definition)
    what = f"line {line} of {module.path} binds `{definition.name}` again before anything reads this one"
    return (what, "change the definition at that line") if line else None


def overwritten(module: Module, definition: Definition) -> int:
    """Return the line that certainly rebinds or deletes a name before anything reads it, or 0.

    A decorator may have kept the function that it decorates; type checkers read what is under ``if TYPE_CHECKING:``.
    """
    if getattr(definition.node, "decorator_list", []) or definition.node in module.parsed.typing_only:
        return 0
    known = module.definitions[definition.name]
    leaf = definition.leaf
    later: list[ast.stmt] = []
    for one in known[known.index(definition) + 1 :]:
        runs = one.branches == definition.branches or all(branch.runs for branch in one.branches)
        if one.owner == definition.owner and runs:
            later.append(one.node)
    for node in module.siblings(definition.node):
        if isinstance(node, ast.Delete) and leaf in map(ast.unparse, node.targets):
            later.append(node)
    for node in sorted(later, key=lambda node: node.lineno):
        after = node.lineno > definition.node.lineno
        if after and not _is_read(module, definition, leaf, _last_of_head(node)):
            return node.lineno
    return 0


def _last_of_head(node: ast.stmt) -> int:
    """Return the last line that may read the name before a statement rebinds it."""
    body: list[ast.stmt] = getattr(node, "body", [])
    return body[0].lineno if body else node.end_lineno or node.lineno


def _is_read(module: Module, definition: Definition, leaf: str, last: int) -> bool:
    """Return whether something may read a definition by its name up to a line."""
    # A class body reads its names where it stands; what reads those of a module may be called from anywhere above.
    scopes = module.outer_scopes.classes.get(definition.parent, []) if definition.parent else module.scopes.all
    own = range(definition.node.lineno, (definition.node.end_lineno or definition.node.lineno) + 1)
    for scope in scopes:
        lines = (load.at.lineno for load in scope.loads if load.name == leaf)
        if any(line <= last and line not in own for line in lines):
            return True
    return False


def _listed(module: Module, definitions: Sequence[Definition]) -> str:
    return ", ".join(
        f"line {one.node.lineno} (`{'; '.join(leading(module, one))}`{_KINDS[one.kind]})" for one in definitions
    )
