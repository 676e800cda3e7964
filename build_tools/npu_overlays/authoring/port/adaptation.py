"""Adaptation: a wrapper and the change of the function that it wraps → the wrapper that follows the change.

Only steps that syntax proves are taken: each call of the original passes the same arguments, by the new names and in
the new places, and passes a new parameter on. Everything else raises `UnprovenError` with the reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from npu_overlays.authoring.port.renamed_names import RenamedName
from npu_overlays.authoring.port.renamed_words import INDIRECT, UnprovenError, function_of, with_names
from npu_overlays.errors import listing
from npu_overlays.merge.actions.wraps import end_of_parameters
from npu_overlays.model.definitions import FunctionNode
from npu_overlays.model.fingerprint import dump
from npu_overlays.model.functions import own_nodes
from npu_overlays.model.local_names import FunctionNames
from npu_overlays.model.module import Module
from npu_overlays.model.signature_changes import SignatureChange
from npu_overlays.model.signatures import Parameter, call_mismatch, is_upstreams, parameters, private_mismatch
from npu_overlays.model.splices import Splice, splice
from npu_overlays.model.syntax import all_of, call_arguments, is_name, last_name, nodes_of, text_of
from npu_overlays.model.tokens import tokens
from npu_overlays.overlay.operations import Operation

_WIDTH = 119
_STEP = "    "
_AMBIGUOUS = "upstream's parameters may have exchanged names: its body does not show which one is which"
# In these statements a part may be passed over.
_BRANCHING = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Match, ast.Try)
# A sentence, and what is true if it is a reason.
_Reason: TypeAlias = tuple[str, object]


def adapted(operation: Operation, change: SignatureChange) -> Operation:
    """Return an operation adapted to a change of its function's signature; raises `UnprovenError`."""
    if operation.action == "edited":
        if change.is_ambiguous:
            raise UnprovenError(_AMBIGUOUS)
        names = [RenamedName(old=old, new=new, role="parameter") for old, new in change.renamed.items()]
        return with_names(operation, names)
    if operation.action != "wrapped":
        raise UnprovenError("it does the work itself, and may have to do it otherwise")
    text, original = operation.text, operation.upstream_name
    _check(text, original, change)
    text = _with_names(text, original, change)
    if change.moves_arguments:
        text = _with_calls(text, original, change)
    text = _with_parameters(text, change)
    _check_calls(text, original, change, is_member=bool(operation.owner))
    if left := [name for name in change.removed if _count(function_of(text)[1], name)]:
        raise UnprovenError(f"it uses `{left[0]}` itself")
    if change.has_other_body and _answers_itself(text, original):
        raise UnprovenError("its body changed, and this does the work of that itself")
    return replace(operation, text=text)


def _check(text: str, original: str, change: SignatureChange) -> None:
    """Raise `UnprovenError` with the first reason why syntax does not prove how a wrapper follows."""
    module, node = function_of(text)
    calls = list(_calls(node, original))
    for reason, holds in [*_by_names(node, change), *_by_calls(module, node, calls, original, change)]:
        if holds:
            raise UnprovenError(reason)


def _by_names(node: FunctionNode, change: SignatureChange) -> Iterator[_Reason]:
    """Yield the reasons that lie in the parameters and in the names of a wrapper."""
    known, listed = FunctionNames(node), parameters(node.args)
    own = {one.name for one in listed}
    gone = {*change.renamed, *change.removed}
    new = {*change.added, *change.renamed.values()}
    texts = {one.value for one in all_of(node, ast.Constant) if isinstance(one.value, str)}
    starred = [{one.kind for one in some if one.is_starred} for some in (listed, change.before, change.after)]
    is_other = any(one.is_starred and one.name in change.added for one in change.after)
    taken = sorted((own | known.all) & new)
    bound = sorted(name for name in gone if not known.is_only_parameter(name))
    yield "what decorates it may do anything", change.has_others
    yield f"it has `{listing(taken)}` already", taken
    yield _AMBIGUOUS, change.is_ambiguous
    yield "it has parameters of its own", change.moves_arguments and own - {one.name for one in change.before}
    yield "upstream takes other `*` or `**`", is_other or not starred[1] == starred[2] == starred[0]
    yield "it may name parameters by texts", (gone | new) & texts or known.all & INDIRECT
    yield f"it has another `{listing(bound)}` in it", bound


def _by_calls(
    module: Module, node: FunctionNode, calls: list[ast.Call], original: str, change: SignatureChange
) -> Iterator[_Reason]:
    """Yield the reasons that lie in what a wrapper does with its parameters and with the original."""
    is_moved = change.moves_arguments
    is_called_otherwise = is_moved or bool(change.renamed)
    unpacked = _unpacked(node, calls) if change.renamed or change.removed else ""
    is_only_called = len(calls) == _count(node, original)
    calls_itself = any(last_name(one.func) == node.name for one in all_of(node, ast.Call))
    has_result = change.added and not _hands_on(node, calls)
    yield f"it does more with `{original}` than to call it", is_called_otherwise and not is_only_called
    yield f"it gives arguments by `*` or `**`: {unpacked}", unpacked
    yield "a comment stands between arguments", any(map(partial(_has_comment, module), (node.args, *calls)))
    yield "it returns what it makes itself, and may have to use what is new", has_result
    yield f"it calls another `{node.name}`, which may have changed, too", is_called_otherwise and calls_itself
    # A new parameter was in one of these before, and one that is gone will be.
    rest = node.args.kwarg
    if rest and is_moved:
        yield f"it does more with `{rest.arg}` than to pass it on", not _hands_on_rest(node, calls, rest.arg)
    if node.args.vararg:
        yield f"`{node.args.vararg.arg}` holds other arguments now", is_moved
    if change.added and not rest:
        other = sorted(_used_otherwise(node, calls) - {"self", "cls"})
        yield f"it does more with `{listing(other)}` than to pass it on, and may have to with what is new", other
    for name in change.optional:
        yield f"it uses `{name}`, which may be left out now", _count(node, name) != _handed(calls, name)


def _check_calls(text: str, original: str, change: SignatureChange, *, is_member: bool) -> None:
    """Raise `UnprovenError` if upstream's function does not accept a call in a wrapper that follows."""
    places = {one.name for one in change.after if one.kind == "/"}
    for call in _calls(function_of(text)[1], original):
        if named := places.intersection(filter(None, (one.arg for one in call.keywords))):
            raise UnprovenError(f"it would give `{min(named)}` by name, which upstream takes by position")
        if problem := call_mismatch(call, list(change.after)) or (private_mismatch(call) if is_member else ""):
            raise UnprovenError(f"its call {problem}")


def _count(node: ast.AST, name: str) -> int:
    return sum(one.id == name for one in all_of(node, ast.Name))


def _handed(calls: list[ast.Call], name: str) -> int:
    """Return how often calls of the original pass a parameter on unchanged."""
    return sum(is_name(one, name) for call in calls for one in _arguments_of(call))


def _arguments_of(call: ast.Call) -> Iterator[ast.expr]:
    """Yield the arguments of a call, without their stars."""
    yield from (one.value if isinstance(one, ast.Starred) else one for one in call_arguments(call))


def _calls(node: FunctionNode, original: str) -> Iterator[ast.Call]:
    yield from (one for one in all_of(node, ast.Call) if is_name(one.func, original))


def _unpacked(node: FunctionNode, calls: list[ast.Call]) -> str:
    """Return an argument of the original with a star that is not a starred parameter of the wrapper's own."""
    own = {one.name for one in parameters(node.args) if one.is_starred}
    for call in calls:
        starred = [one.value for one in call.args if isinstance(one, ast.Starred)]
        starred += [one.value for one in call.keywords if not one.arg]
        for one in starred:
            if not isinstance(one, ast.Name) or one.id not in own:
                return f"`{ast.unparse(one)}`"
    return ""


def _hands_on(node: FunctionNode, calls: list[ast.Call]) -> bool:
    """Return whether a function returns nothing but the results of the original."""
    returned = [one.value for one in own_nodes(node) if isinstance(one, ast.Return)]
    values = [one.value if isinstance(one, ast.Await) else one for one in returned]
    return isinstance(node.body[-1], ast.Return) and all(one in calls for one in values)


def _answers_itself(text: str, original: str) -> bool:
    """Return whether a wrapper may return without a call of the original."""
    node = function_of(text)[1]
    calls = frozenset(_calls(node, original))
    own = frozenset(one for one in own_nodes(node) if isinstance(one, ast.Return))
    for statement in node.body:
        if any(one in own and calls.isdisjoint(nodes_of(one)) for one in all_of(statement, ast.Return)):
            return True
        if not isinstance(statement, _BRANCHING) and not calls.isdisjoint(nodes_of(statement)):
            return False
    return not isinstance(node.body[-1], ast.Return)


def _hands_on_rest(node: FunctionNode, calls: list[ast.Call], rest: str) -> bool:
    """Return whether a function passes its ``**kwargs`` on to every call of the original, and does nothing else.

    It may read and set entries by their names, as ``kwargs["x"] = 1``.
    """
    handed = [one for call in calls for one in call.keywords if not one.arg and is_name(one.value, rest)]
    entries = [one for one in all_of(node, ast.Subscript) if is_name(one.value, rest) and text_of(one.slice)]
    return len(handed) == len(calls) == _count(node, rest) - len(entries)


def _used_otherwise(node: FunctionNode, calls: list[ast.Call]) -> set[str]:
    """Return the parameters that a function does more with than to pass them on and to test them.

    Any other use may change them, or make another value of them: a method, an assignment, another call.
    """
    harmless: set[ast.AST] = set()
    for call in calls:
        harmless.update(_arguments_of(call))
    branches: list[ast.If | ast.IfExp] = all_of(node, (ast.If, ast.IfExp))
    for one in branches:
        if not all_of(one.test, (ast.Call, ast.NamedExpr)):
            harmless.update(nodes_of(one.test))
    own = {one.name for one in parameters(node.args)}
    names = [one for statement in node.body for one in all_of(statement, ast.Name)]
    return {one.id for one in names if one.id in own and one not in harmless}


def _has_comment(module: Module, node: ast.AST) -> bool:
    nodes: list[ast.AST] = [one.node for one in parameters(node)] if isinstance(node, ast.arguments) else [node]
    if not nodes:
        return False
    start, end = module.span(nodes[0])[0], module.span(nodes[-1])[1]
    return any(one.kind == "comment" for one in tokens(module.content[start:end].decode()))


def _with_names(text: str, original: str, change: SignatureChange) -> str:
    """Return a wrapper with its parameters renamed, also in the keywords of calls of the original."""
    module, node = function_of(text)
    spans: list[tuple[int, str]] = []
    for one in all_of(node, ast.Name):
        spans.append((module.span(one)[0], one.id))
    for parameter in parameters(node.args):
        spans.append((module.span(parameter.node)[0], parameter.name))
    for call in _calls(node, original):
        spans += [(module.span(one)[0], one.arg) for one in call.keywords if one.arg]
    splices: list[Splice] = []
    for start, name in spans:
        if name in change.renamed:
            end = start + len(name.encode())
            splices.append(Splice(start=start, end=end, text=change.renamed[name], where=""))
    return splice(module.content, splices, newline="\n").decode()


def _with_calls(text: str, original: str, change: SignatureChange) -> str:
    """Return a wrapper whose calls of the original pass the same arguments, and the new parameters."""
    module, node = function_of(text)
    splices: list[Splice] = []
    for call in _calls(node, original):
        first = call_arguments(call)[:1]
        is_open = bool(first) and first[0].lineno > call.lineno
        arguments = list(_arguments(module, call, change))
        start, end = module.span(call.func)[1], module.span(call)[1]
        margin = module.line_indentation(call.lineno)
        splices.append(Splice(start=start, end=end, text=_in_parentheses(arguments, margin, is_open=is_open), where=""))
    return splice(module.content, splices, newline="\n").decode()


def _arguments(module: Module, call: ast.Call, change: SignatureChange) -> Iterator[str]:
    """Yield the arguments of a call: by position as long as the positions are the same, and by name after that."""
    gone = frozenset(change.removed)
    kept, places = 0, [one.name for one in change.after if one.is_positional]
    is_in_place = True
    for number, value in enumerate(call.args):
        if isinstance(value, ast.Starred) or number >= len(change.names):
            raise UnprovenError("it gives arguments by `*`")
        name = change.names[number]
        if name in gone:
            _check_handed(value, name)
            continue
        is_in_place = is_in_place and places[kept : kept + 1] == [name]
        kept += is_in_place
        yield module.text(value) if is_in_place else f"{name}={module.text(value)}"
    for one in call.keywords:
        if one.arg in gone:
            _check_handed(one.value, one.arg)
        elif one.arg:
            yield f"{one.arg}={module.text(one.value)}"
    yield from (f"{name}={name}" for name in change.added)
    yield from (f"**{module.text(one.value)}" for one in call.keywords if not one.arg)


def _check_handed(value: ast.expr, name: str | None) -> None:
    """Raise `UnprovenError` if an argument is another value than the parameter of that name."""
    if not is_name(value, name or ""):
        raise UnprovenError(f"it gives `{name}`, which is gone, a value of its own")


def _with_parameters(text: str, change: SignatureChange) -> str:
    """Return a wrapper with upstream's new parameters, followed by its own."""
    module, node = function_of(text)
    own = {one.name: one for one in parameters(node.args)}
    starred = {one.kind: one for one in own.values() if one.is_starred}
    surplus = [one for one in own.values() if one.name not in change.names and not one.is_starred]
    texts: list[str] = []
    before = ""
    rest = [one for one in change.after if one.kind == "**"]
    for one in [*change.after[: len(change.after) - len(rest)], *surplus, *rest]:
        texts += ["/"] if before == "/" != one.kind else []
        texts += ["*"] if one.kind == "kw" and before not in ("kw", "*") else []
        texts.append(_parameter(module, starred.get(one.kind) or own.get(one.name), one))
        before = one.kind
    start, end = module.name_span(node)[1], end_of_parameters(module, node)
    is_open = b"\n" in module.content[start:end]
    rewritten = _in_parentheses(texts, "", is_open=is_open)
    return splice(module.content, [Splice(start=start, end=end, text=rewritten, where="")], newline="\n").decode()


def _parameter(module: Module, own: Parameter | None, theirs: Parameter) -> str:
    """Return the text of a parameter: the wrapper's own where it has that parameter, else upstream's."""
    name = f"{theirs.kind if theirs.is_starred else ''}{own.name if own else theirs.name}"
    if own and own.node.annotation:
        name += f": {module.text(own.node.annotation)}"
    if theirs.default is None:
        return name
    default = "..."
    if own and own.default and (is_upstreams(own.default) or dump(own.default) == dump(theirs.default)):
        default = module.text(own.default)
    elif isinstance(theirs.default, ast.Constant):
        default = ast.unparse(theirs.default)
    return f"{name} = {default}" if own and own.node.annotation else f"{name}={default}"


def _in_parentheses(texts: list[str], margin: str, *, is_open: bool) -> str:
    """Return texts on one line, or each on its own."""
    line = f"({', '.join(texts)})"
    if not is_open and len(line) <= _WIDTH - 2 * len(_STEP) - len(margin):
        return line
    return "(\n" + "".join(f"{margin}{_STEP}{one},\n" for one in texts) + f"{margin})"
