"""Hidden additions: merged module → members added to classes whose objects always hide them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from npu_overlays.errors import Problem
from npu_overlays.merge.authorship import Authorship, line_at
from npu_overlays.merge.results import AppliedOperation
from npu_overlays.merge.targets import problem
from npu_overlays.model import Model, Symbol
from npu_overlays.model.instance_attributes import hiding_assignments
from npu_overlays.model.module import Module


def hidden_additions(
    before: Module, after: Module, authorship: Authorship, changes: Iterable[AppliedOperation], model: Model
) -> Iterator[Problem]:
    """Yield a problem for every member added to a class whose objects have one of their own, as upstream wrote it.

    Code that the overlay removed hides nothing, and neither does a method that it replaced.

    Args:
        before: upstream's module.
        after: what operations made of it.
        authorship: whose its bytes are.
        changes: what they did.
        model: of the tree that the module was in.
    """
    listed = [change.operation for change in changes]
    added = [one for one in listed if one.action == "added" and one.owner]
    edits = {one.where for one in listed if one.action == "edited"}
    classes = model.classes.with_module(before.path, after.file) if added else model.classes
    for operation in added:
        owner, always = Symbol(operation.path, operation.owner), operation.kind != "attribute"
        for path, node in hiding_assignments(classes, owner, operation.leaf, always=always):
            stretch = authorship.at(after.span(node)[0]) if path == before.path else None
            if stretch is None or stretch.origin is not None or stretch.where in edits:
                line = _line(before, after, authorship, node) if stretch else f"line {node.lineno} of {path}"
                own = f"`{operation.owner}` already gives every instance its own `{operation.leaf}` ({line})"
                what = f"{own}, which hides what is added"
                yield problem(operation, what, "add it under another name, or operate on the method that sets it")
                break


def _line(before: Module, after: Module, authorship: Authorship, node: ast.expr | ast.stmt) -> str:
    """Return the upstream line of a node, or that an edit wrote it."""
    origin = authorship.origin(after.span(node)[0])
    return "as edited" if origin is None else f"line {line_at(before.content, origin)}"
