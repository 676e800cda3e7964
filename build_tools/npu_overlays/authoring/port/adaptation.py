"""Adaptation: a wrapper and the change of the function that it wraps → the wrapper that follows the change.

Only steps that syntax proves are taken: each call of the original passes the same arguments, by the new names and in
the new places, and passes a new parameter on. Everything else raises `UnprovenError` with the reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from npu_overlays.errors import listing
from npu_overlays.merge.actions.wraps import end_of_parameters
from npu_overlays.model.definitions import FUNCTIONS, FunctionNode, bound_name
from npu_overlays.model.fingerprint import dump
from npu_overlays.model.functions import own_nodes
from npu_overlays.model.module import Module
from npu_overlays.model.signature_changes import SignatureChange
from npu_overlays.model.signatures import Parameter, is_upstreams, parameters
from npu_overlays.model.splices import Splice, splice
from npu_overlays.model.syntax import all_of, call_arguments, is_name, nodes_of, text_of
from npu_overlays.model.tokens import Token, tokens
from npu_overlays.overlay.operations import Edit, Operation

_WIDTH = 119
_STEP = "    "
# Calls that read or write names which the syntax does not show.
_INDIRECT = frozenset({"locals", "vars", "eval", "exec"})
# Other nodes than names that bind one.
_NAMED = (*FUNCTIONS, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)


class UnprovenError(Exception):
    """Syntax alone does not prove how an operation follows; the text is the reason."""


def function_of(text: str) -> tuple[Module, FunctionNode]:
    """Return the function that a text begins with, and the text as a module; raises `UnprovenError` for other code."""
    module = Module("", text.encode())
    node = module.tree.body[0]
    if not isinstance(node, FUNCTIONS):
        raise UnprovenError("it is no function")
    return module, node


def adapted(operation: Operation, change: SignatureChange) -> Operation:
    """Return an operation adapted to a change of its function's signature; raises `UnprovenError`."""
    if operation.action == "edited":
        return replace(operation, edits=tuple(_with_words(edit, change.renamed) for edit in operation.edits))
    if operation.action != "wrapped":
        raise UnprovenError("it does the work itself, and may have to do it otherwise")
    text, original = operation.text, operation.upstream_name
    _check(text, original, change)
    text = _with_names(text, original, change)
    if change.moves_arguments:
        text = _with_calls(text, original, change)
    text = _with_parameters(text, change)
    if left := [name for name in change.removed if _count(function_of(text)[1], name)]:
        raise UnprovenError(f"it uses `{left[0]}` itself")
    return replace(operation, text=text)


def _with_words(edit: Edit, renamed: Mapping[str, str]) -> Edit:
    """Return an edit with parameters renamed in its find and its replacement.

    The find has to occur in upstream's function, so upstream renamed its keywords, too.
    """
    found, put_in = (list(_named(text, renamed)) for text in (edit.find, edit.replace))
    known = {token.text for token in tokens(edit.find)}
    for token in tokens(edit.replace):
        new = token.text not in known
        if new and (token.text in _INDIRECT or (token.kind == "string" and _words(token.text) & renamed.keys())):
            raise UnprovenError(f"it may name a parameter by `{token.text}`")
    keywords = {token.text for token, is_keyword in found if is_keyword}
    for token, is_keyword in put_in:
        if is_keyword and token.text not in keywords:
            raise UnprovenError(f"it puts in the keyword `{token.text}`, which may be another one's")
    find, put = _exchanged(edit.find, found, renamed), _exchanged(edit.replace, put_in, renamed)
    return replace(edit, find=find, replace=put)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _named(text: str, renamed: Mapping[str, str]) -> Iterator[tuple[Token, bool]]:
    """Yield the tokens of a piece of code that are renamed parameters, and whether each is a keyword of a call.

    An attribute of that name is another thing.
    """
    listed = [one for one in tokens(text) if one.kind not in ("comment", "newline")]
    for number, token in enumerate(listed):
        if token.text in renamed.values():
            raise UnprovenError(f"it has `{token.text}` already")
        if token.text in renamed and (not number or listed[number - 1].text != "."):
            behind = listed[number + 1].text if number + 1 < len(listed) else ""
            yield token, behind == "="


def _exchanged(text: str, named: Iterable[tuple[Token, bool]], renamed: Mapping[str, str]) -> str:
    parts, at = list[str](), 0
    for token, _ in named:
        parts += [text[at : token.start], renamed[token.text]]
        at = token.end
    return "".join([*parts, text[at:]])


def _check(text: str, original: str, change: SignatureChange) -> None:
    """Raise `UnprovenError` with the first reason why syntax does not prove how a wrapper follows."""
    module, node = function_of(text)
    changed = {*change.renamed, *change.removed, *change.added, *change.renamed.values()}
    listed = parameters(node.args)
    own = {one.name for one in listed}
    words = {one.id for one in all_of(node, ast.Name)}
    outer = [one.node for one in listed]
    inner = {one.arg for one in all_of(node, ast.arg) if one not in outer}
    bound = set(_names_bound(node))
    texts = {one.value for one in all_of(node, ast.Constant) if isinstance(one.value, str)}
    starred = list(map(_starred, (listed, change.before, change.after)))
    calls = list(_calls(node, original))
    taken = (own | words | bound) & {*change.added, *change.renamed.values()}
    surplus = own - {one.name for one in change.before}
    reasons = {
        "what decorates it may do anything": change.has_others,
        f"it has `{listing(sorted(taken))}` already": taken,
        "upstream may have renamed parameters, and not reordered them": change.is_ambiguous,
        f"it binds `{listing(sorted(bound & changed))}` itself": bound & changed,
        "it has parameters of its own": surplus and change.moves_arguments,
        "upstream takes other `*` or `**`": not starred[1] == starred[2] == starred[0],
        "it may name parameters by texts, or in functions of its own": changed & (texts | inner) or words & _INDIRECT,
        f"it does more with `{original}` than to call it": changed and len(calls) != _count(node, original),
        "a comment stands between arguments": any(map(partial(_has_comment, module), (node.args, *calls))),
        "it returns what it makes itself, and may have to use what is new": change.added and not _hands_on(node, calls),
    }  # fmt: skip
    altered = sorted(one for one in own - {"self"} if _is_altered(node, one))
    if altered and change.added and not _hands_on_all(node, calls):
        reasons[f"it changes `{altered[0]}` first, and may have to change what is new"] = True
    rest = node.args.kwarg.arg if node.args.kwarg else ""
    harmless = len(list(_rest_handed(node, calls))) + len(list(_other_entries(node, rest, change.added)))
    if change.added and _count(node, rest) != harmless:
        reasons[f"it reads `{rest}`, which no longer holds what is new"] = True
    for name in change.optional:
        reasons[f"it uses `{name}`, which may be left out now"] = _count(node, name) != _handed(calls, name)
    for reason, holds in reasons.items():
        if holds:
            raise UnprovenError(reason)


def _starred(listed: Iterable[Parameter]) -> set[str]:
    return {one.kind for one in listed if one.is_starred}


def _count(node: ast.AST, name: str) -> int:
    return sum(one.id == name for one in all_of(node, ast.Name))


def _handed(calls: list[ast.Call], name: str) -> int:
    """Return how often calls of the original pass a parameter on unchanged."""
    return sum(is_name(one, name) for call in calls for one in call_arguments(call))


def _calls(node: FunctionNode, original: str) -> Iterator[ast.Call]:
    yield from (one for one in all_of(node, ast.Call) if is_name(one.func, original))


def _hands_on(node: FunctionNode, calls: list[ast.Call]) -> bool:
    """Return whether a function returns nothing but the results of the original."""
    returned = [one.value for one in own_nodes(node) if isinstance(one, ast.Return)]
    values = [one.value if isinstance(one, ast.Await) else one for one in returned]
    return isinstance(node.body[-1], ast.Return) and all(one in calls for one in values)


def _is_altered(node: FunctionNode, name: str) -> bool:
    """Return whether a function gives a parameter another value, or changes that in place."""
    changed: list[ast.expr] = []
    for one in all_of(node, ast.expr):
        if isinstance(one, (ast.Name, ast.Attribute, ast.Subscript)) and not isinstance(one.ctx, ast.Load):
            changed.append(one)
    for statement in all_of(node, ast.Expr):  # such a call is for what it does to its object
        if isinstance(statement.value, ast.Call) and isinstance(statement.value.func, ast.Attribute):
            changed.append(statement.value.func)
    return any(is_name(_root(one), name) for one in changed)


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node


def _hands_on_all(node: FunctionNode, calls: list[ast.Call]) -> bool:
    """Return whether a function passes its ``**kwargs`` on to every call of the original."""
    return bool(calls) and len(list(_rest_handed(node, calls))) == len(calls)


def _rest_handed(node: FunctionNode, calls: Iterable[ast.Call]) -> Iterator[ast.keyword]:
    """Yield where calls of the original pass the function's ``**kwargs`` on."""
    rest = node.args.kwarg.arg if node.args.kwarg else ""
    for call in calls:
        yield from (one for one in call.keywords if not one.arg and is_name(one.value, rest))


def _other_entries(node: FunctionNode, rest: str, added: Iterable[str]) -> Iterator[ast.Subscript]:
    """Yield where a function reads or sets an entry of its ``**kwargs`` that is none of the new parameters."""
    for one in all_of(node, ast.Subscript):
        key = text_of(one.slice)
        if is_name(one.value, rest) and key and key not in added:
            yield one


def _names_bound(node: FunctionNode) -> Iterator[str]:
    """Yield the names that a function binds, or declares, otherwise than by `ast.Name` and `ast.arg`."""
    for one in nodes_of(node):
        if isinstance(one, (ast.Import, ast.ImportFrom)):
            yield from (bound_name(one, alias) for alias in one.names)
        elif isinstance(one, (ast.Global, ast.Nonlocal)):
            yield from one.names
        elif isinstance(one, ast.MatchMapping):
            yield one.rest or ""
        elif one is not node and isinstance(one, _NAMED):
            yield one.name or ""


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
