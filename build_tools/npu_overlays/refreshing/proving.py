"""Proving: the tree that an overlay gives, and the files that it is to give → those that are otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from npu_overlays.model.module import Module
from npu_overlays.refreshing.edited import Edited
from npu_overlays.refreshing.meaning import same_program
from npu_overlays.sources.tree import PatchedTree


def unlike(tree: PatchedTree, edited: Sequence[Edited], *, besides: PatchedTree) -> list[str]:
    """Return the paths of files that are otherwise than they are to be.

    Args:
        tree: what an overlay gives.
        edited: files that are to be so: the same bytes, or where upstream has a module, the same program.
        besides: what all others are to be like.
    """
    paths = {*tree.changed, *besides.changed} - {one.path for one in edited}
    others = sorted(path for path in paths if tree.after(path) != besides.after(path))
    return [*(one.path for one in edited if not _same(tree, one)), *others]


def _same(tree: PatchedTree, one: Edited) -> bool:
    after = tree.after(one.path)
    if after == one.content:
        return True
    before = tree.before(one.path)
    if after is None or one.content is None or before is None or not one.path.endswith(".py"):
        return False
    return same_program(after, one.content, Module(one.path, before).definitions.keys())
