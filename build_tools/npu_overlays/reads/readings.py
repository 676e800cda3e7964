"""Readings: overlay and upstream tree → what each operation and added file reads there.

A name that the overlay's text reads stands for a symbol of upstream's. Where that is data, so are the names it gets its
value from, as far as they are data in their turn; where it is a class, so are those attributes of its objects
that the text, or what it calls of the overlay's own, asks for of anything. A dictionary that is written out is told
entry by entry. What a function does inside is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from npu_overlays.errors import Problem
from npu_overlays.merging.results import Applied
from npu_overlays.overlay.content import Content
from npu_overlays.reads.code import Code, Codes
from npu_overlays.reads.described import described
from npu_overlays.reads.following import Following
from npu_overlays.reads.pieces import Piece
from npu_overlays.reads.read import Reading
from npu_overlays.reads.upstream import Upstream


def readings(content: Content, upstream: Upstream, applied: Applied) -> tuple[Reading, ...]:
    """Return what an overlay reads of its upstream, in the order of its operations and files.

    Args:
        content: the overlay.
        upstream: its upstream.
        applied: what applying it there gave: what an edit puts into upstream's text reads what it means in that.
    """
    codes = Codes(content, applied)
    return tuple(reading for code in codes.all for reading in _of(code, codes, upstream))


def unmet(content: Content, upstream: Upstream) -> Iterator[Problem]:
    """Yield a problem for all that `depends` names and upstream does not have.

    Args:
        content: the overlay.
        upstream: its upstream.
    """
    for operation in content.operations:
        for name in operation.depends:
            path, _, symbol = name.partition(":")
            if path not in upstream.absent and upstream.find(path, symbol) is None:
                module = upstream.module(path)
                near = module.nearest(symbol) if module else ""
                what = f"`depends` names `{name}`, which upstream does not have"
                fix = f"nearest: `{path}:{near}`" if near else "correct the path and the name, or take it out"
                yield Problem(where=operation.where, what=what, fix=fix)


def _of(code: Code, codes: Codes, upstream: Upstream) -> Iterator[Reading]:
    """Yield what one piece of an overlay reads; of several places that read one symbol, the first."""
    piece = Piece(code=code, codes=codes, upstream=upstream)
    follow = Following(upstream=upstream, asked=piece.asked)
    for root in piece.roots():
        for found in follow.reached(root):
            yield Reading(read=described(found, upstream), reader=code.reader, written=root.written, where=root.where)
    operation = code.operation
    for name in operation.depends if operation else ():
        path, _, symbol = name.partition(":")
        if operation and (there := upstream.find(path, symbol)):
            read = described(there, upstream, whole=True)
            yield Reading(read=read, reader=code.reader, written="depends", where=operation.where)
