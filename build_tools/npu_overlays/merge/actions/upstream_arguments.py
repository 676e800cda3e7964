"""Upstream arguments: a wrapper → its calls of the original that do not fit the original's parameters.

Each check yields (what is wrong, what to do); what is wrong is the rest of a sentence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.merge.actions.wrappers import Wrapper
from npu_overlays.model.definitions import FunctionNode
from npu_overlays.model.signatures import Parameter, parameters, unbound, written


def misfits(wrapper: Wrapper) -> Iterator[tuple[str, str]]:
    """Yield calls of the original that cannot be bound to its parameters, or do not hand on self or cls."""
    theirs = parameters(wrapper.original.args)
    for call, _ in wrapper.calls():
        reason = unbound(call, theirs) or (_without_self(wrapper, call, theirs) if wrapper.owner else "")
        if reason:
            shown = f"{wrapper.name}({', '.join(map(ast.unparse, [*call.args, *call.keywords]))})"
            fix = f"upstream's parameters are {written(wrapper.original.args)}"
            yield f"calls {shown}, which {reason}", fix


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
