"""Anchors: operations of one file → the same, each addition with the upstream symbol in front of which it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from npu_overlays.overlay.operations import Operation


def with_anchors(operations: Sequence[Operation]) -> Iterator[Operation]:
    """Yield operations; an addition at module level stands in front of what the next one operates on."""
    for number, operation in enumerate(operations):
        following = (
            other.name.partition(".")[0]
            for other in operations[number + 1 :]
            if other.path == operation.path and (other.action != "added" or other.owner)
        )
        moves = operation.action == "added" and not operation.owner
        yield replace(operation, before=next(following, "")) if moves else operation
