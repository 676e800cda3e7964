"""Hidden: merged module → additions to classes that no object of theirs ever reaches."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from npu_overlays.errors import Problem
from npu_overlays.merging.authorship import Authorship
from npu_overlays.merging.results import Change
from npu_overlays.merging.sites import problem
from npu_overlays.merging.upstream.instances import hiding
from npu_overlays.overlay.operations import Operation
from npu_overlays.syntax.symbols import Module


def hidden_additions(
    before: Module, after: Module, authorship: Authorship, changes: Iterable[Change]
) -> Iterator[Problem]:
    """Yield a problem for every member added to a class whose objects have one of their own, as upstream wrote it.

    What the overlay took out hides nothing, and who replaces the method that sets it knows of the addition.
    """
    listed = [change.operation for change in changes]
    edits = {one.where for one in listed if one.action == "edited"}
    for operation in (one for one in listed if one.action == "added" and "." in one.symbol):
        for node in _hiding(after, operation):
            stretch = authorship.at(after.span(node)[0])
            if stretch.origin is not None or stretch.where in edits:
                line = _line(before, after, authorship, node)
                owner, _, leaf = operation.symbol.rpartition(".")
                what = f"`{owner}` already gives every instance its own `{leaf}` ({line}), which hides what is added"
                yield problem(operation, what, "add it under another name, or operate on the method that sets it")
                break


def _hiding(module: Module, operation: Operation) -> Iterator[ast.expr | ast.stmt]:
    owner, _, leaf = operation.symbol.rpartition(".")
    return hiding(module, owner, leaf, always=operation.kind != "attribute")


def _line(before: Module, after: Module, authorship: Authorship, node: ast.expr | ast.stmt) -> str:
    """Return the line of upstream's on which something stands, or that an edit wrote it."""
    origin = authorship.origin(after.span(node)[0])
    if origin is None:
        return "as edited"
    number = before.content[:origin].count(b"\n") + 1
    return f"line {number}"
