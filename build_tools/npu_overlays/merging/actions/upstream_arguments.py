"""Upstream arguments: a wrapper → its calls of the original that do not fit the original's parameters.

Each check yields (what is wrong, what to do); what is wrong is the rest of a sentence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.merging.actions.wrappers import Wrapper
from npu_overlays.merging.upstream.signatures import Parameter, parameters, written
from npu_overlays.syntax.definitions import FunctionNode


def misfits(wrapper: Wrapper) -> Iterator[tuple[str, str]]:
    """Yield calls of the original that cannot be bound to its parameters, or do not hand on self or cls."""
    theirs = parameters(wrapper.original.args)
    for call, _ in wrapper.calls():
        reason = _unbound(call, theirs) or (_without_self(wrapper, call, theirs) if wrapper.owner else "")
        if reason:
            shown = f"{wrapper.name}({', '.join(map(ast.unparse, [*call.args, *call.keywords]))})"
            fix = f"upstream's parameters are {written(wrapper.original.args)}"
            yield f"calls {shown}, which {reason}", fix


def _unbound(call: ast.Call, theirs: list[Parameter]) -> str:
    """Return why Python would refuse a call, or an empty text; what is starred could be anything."""
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    doubly = any(one.arg is None for one in call.keywords)
    positional = [one for one in theirs if one.kind in ("/", "|")]
    kinds = {one.kind for one in theirs}
    given = sum(not isinstance(one, ast.Starred) for one in call.args)
    named = {one.arg for one in call.keywords if one.arg}
    if given > len(positional) and "*" not in kinds:
        return f"gives {given} positional arguments where upstream takes {len(positional)}"
    known = {one.name for one in theirs if one.kind in ("|", "kw")}
    if (unknown := sorted(named - known)) and "**" not in kinds:
        return f"gives `{unknown[0]}`, which upstream does not take"
    if twice := [one.name for one in positional[:given] if one.kind == "|" and one.name in named]:
        return f"gives `{twice[0]}` twice"
    lacking = [one for one in theirs if one.default is None and one.kind not in ("*", "**") and one.name not in named]
    for one in lacking:
        reached = one in positional[:given] or (starred and one in positional) or (doubly and one.kind != "/")
        if not reached:
            return f"lacks `{one.name}`"
    return ""


def _without_self(wrapper: Wrapper, call: ast.Call, theirs: list[Parameter]) -> str:
    """Return what is wrong with the first argument of a call in a method, or an empty text."""
    own = [one.name for one in parameters(wrapper.node.args) if one.kind in ("/", "|")]
    first = call.args[0] if call.args else next((one.value for one in call.keywords if one.arg in own[:1]), None)
    if _is_static(wrapper.original):
        strangers = {"self", "cls", "__class__", wrapper.owner.rpartition(".")[2]} - {*own}
        given = isinstance(first, ast.Name) and first.id in strangers
        return f"hands on `{ast.unparse(first)}` to a static method" if first and given else ""
    if not theirs or not own:
        return ""
    if isinstance(first, ast.Starred):
        own_rest = wrapper.node.args.vararg
        lost = isinstance(first.value, ast.Name) and own_rest and first.value.id == own_rest.arg
        return f"does not hand on `{own[0]}`" if lost else ""
    handed = isinstance(first, ast.Name) and first.id == own[0]
    doubly = first is None and any(one.arg is None for one in call.keywords)
    return "" if handed or doubly else f"does not hand on `{own[0]}` first"


def _is_static(node: FunctionNode) -> bool:
    names = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    return bool(names & {"staticmethod", "abstractstaticmethod"})
