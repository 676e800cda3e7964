"""Leaving: operations that go, and the files that are otherwise → those of which the text stands in another file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npu_overlays.errors import MergeError, Problem, listing
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.overlay.operations import Operation
from npu_overlays.refreshing.edited import Edited
from npu_overlays.refreshing.renaming import New, new_in, outliving
from npu_overlays.sources.tree import PatchedTree


def left_for_others(gone: Sequence[Operation], files: Sequence[Edited], now: PatchedTree) -> Iterator[Problem]:
    """Yield what is wrong with operations that go although what they give is still wanted, in another file.

    Args:
        gone: the operations of which the overlay would say nothing any more.
        files: those that are to be otherwise.
        now: what the overlay gives, without notices.
    """
    python = [one for one in files if one.path.endswith(".py")]
    modules = {one.path: module for one in python if (module := _module(one.path, one.content))}
    for path in dict.fromkeys(one.path for one in gone):
        kept = modules.get(path)
        mine = [one for one in gone if one.path == path and not (kept and chosen(kept, one.symbol))]
        for other, wanted in modules.items():
            before = _module(other, now.after(other)) or Module(other, b"")
            if other != path and (found := _found(mine, Module(path, now.after(path) or b""), new_in(before, wanted))):
                yield _problem(path, other, found)


def _module(path: str, content: bytes | None) -> Module | None:
    try:
        return None if content is None else Module(path, content)
    except MergeError:  # an added file may be no Python of this version
        return None


def _found(operations: Sequence[Operation], now: Module, new: Sequence[New]) -> list[Operation]:
    tops = dict.fromkeys(one.name.partition(".")[0] for one in operations)
    return [one for top in tops for one in outliving(top, operations, now, new)]


def _problem(path: str, other: str, found: Sequence[Operation]) -> Problem:
    named = listing(f"`{one.symbol}` ({one.where}: {' '.join(one.reason.why.split())})" for one in found)
    what = f"what operations change there stands in {other} now, and they would go with their reasons: {named}"
    fix = (
        "leave it where upstream has it; or take those operations out of the overlay first, make another checkout, and"
        " move it there: what it is then is new, with reasons of its own"
    )
    return Problem(where=path, what=what, fix=fix)
