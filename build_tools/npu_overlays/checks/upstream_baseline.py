"""Upstream baseline: undefined names of the overlay's text that upstream's text of the symbol leaves undefined too."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from npu_overlays.checks.context import CheckContext
from npu_overlays.checks.undefined_names import UndefinedName
from npu_overlays.errors import MergeError
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.model.signatures import is_upstreams, parameters
from npu_overlays.overlay.operations import Operation


def excused(context: CheckContext, found: Iterable[UndefinedName]) -> Iterator[UndefinedName]:
    """Yield the undefined names that are upstream's: whatever brings them there, or does not, does so here.

    Of what nothing at all can bring, an operation may leave as many as it found, and none elsewhere.
    """
    left: Counter[tuple[str, str]] = Counter()
    for one in found:
        path, before = one.module.path, one.module.before
        known = before is not None and one.kind != "syntax" and context.attribution.wrote(path, one.offset)
        for operation in context.attribution.operations_at(path, one.offset) if known else ():
            if operation.action == "wrapped":
                spans = _taken_over(path, one.module.after, operation)
                allowed = any(start <= one.offset < end for start, end in spans)
            else:
                spans = _upstreams(path, before or b"", operation)
                places = sum(start <= place < end for start, end in spans for place in one.upstreams)
                left[operation.where, one.name] += 1
                allowed = bool(places) and (one.kind != "undefined" or left[operation.where, one.name] <= places)
            if allowed:
                yield one
                break


def _upstreams(path: str, before: bytes, operation: Operation) -> Iterator[tuple[int, int]]:
    """Yield the bytes of upstream's definitions of what an operation changes."""
    module = _read(path, before)
    for known in chosen(module, operation.symbol) if module else ():
        yield module.offset(known.first_line), module.span(known.node)[1]  # type: ignore[union-attr]  # read, as there are definitions


def _taken_over(path: str, after: bytes, operation: Operation) -> Iterator[tuple[int, int]]:
    """Yield the bytes of what a wrapper has from upstream's text, by leaving it out of its own."""
    module, own = _read(path, after), ast.parse(operation.text).body[0]
    for known in chosen(module, operation.symbol) if module else ():
        node = known.node
        if module and isinstance(node, FUNCTIONS) and isinstance(own, FUNCTIONS):
            written = {one.name: one for one in parameters(own.args)}
            for one in parameters(node.args):
                mine = written.get(one.name)
                if mine and one.node.annotation and not mine.node.annotation:
                    yield module.span(one.node.annotation)
                if mine and one.default and is_upstreams(mine.default):
                    yield module.span(one.default)
            if node.returns and not own.returns:
                yield module.span(node.returns)


def _read(path: str, content: bytes) -> Module | None:
    try:
        return Module(path, content)
    except MergeError:
        return None
