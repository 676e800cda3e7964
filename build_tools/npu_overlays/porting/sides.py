"""Sides: a part of a port → upstream's definition as it was and as it is, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.porting.port import Port
from npu_overlays.porting.rows import Row
from npu_overlays.tree import SourceTree

_COLUMN = 76


def side_by_side(port: Port, row: Row) -> Iterator[str]:
    """Yield the lines of both definitions beside each other; of what moved, the new one is where it stands now."""
    path, _, symbol = row.name.partition(":")
    there, _, moved = (row.verdict.to or row.name).partition(":")
    old, new = _text(port.base, path, symbol), _text(port.now, there, moved)
    for left, right in zip_longest(old, new, fillvalue=""):
        mark = " " if left == right else "|"
        yield f"{left[:_COLUMN]:<{_COLUMN}} {mark} {right[:_COLUMN]}".rstrip()


def _text(tree: SourceTree, path: str, symbol: str) -> list[str]:
    """Return the lines of a definition, or of a file that is not Python; none where there is no such thing."""
    if path not in tree:
        return []
    if not path.endswith(".py"):
        return tree.read(path).decode("utf-8", "replace").splitlines()
    module = Module(path, tree.read(path))
    known = chosen(module, symbol)
    return [line for one in known for line in module.whole_text(one.node).decode().splitlines()]
