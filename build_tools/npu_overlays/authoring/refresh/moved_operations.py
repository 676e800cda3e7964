"""Moved operations: operations that would go although their code was only moved, or renamed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from npu_overlays.authoring.matcher import is_alike_elsewhere
from npu_overlays.authoring.refresh.edited_files import EditedFile
from npu_overlays.authoring.refresh.proposals import only
from npu_overlays.authoring.refresh.reasons import listed_with_reasons
from npu_overlays.errors import MergeError, Problem
from npu_overlays.model.definitions import Definition
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.overlay.operations import Operation
from npu_overlays.sources.tree import PatchedTree


@dataclass(frozen=True, kw_only=True)
class NewDefinition:
    """A definition that a wanted module has, and the module without the edits does not have under that name."""

    module: Module
    definition: Definition


def still_wanted(
    whole: str, operations: Sequence[Operation], now: Module, new: Sequence[NewDefinition]
) -> tuple[Operation, ...]:
    """Return the operations on a definition that goes, and on its members, whose code is wanted elsewhere.

    If the whole is there under another name, or in another file, these are all of them; else those whose own definition
    is. Unlike a port, which has to name the one place a definition went to, this asks only whether there is any: its
    parameters may differ, and there may be two.

    Args:
        whole: the qualified name of what goes.
        operations: those on its module.
        now: the module as they give it.
        new: what is new in a wanted module, this one or another.
    """
    inside = tuple(one for one in operations if f"{one.symbol}.".startswith(f"{whole}."))
    old = only(now, whole)
    if old and any(is_alike_elsewhere(now, old, one.module, one.definition) for one in new):
        return inside
    code = {ast.dump(one.definition.node) for one in new}
    found: list[Operation] = []
    for one in inside:
        own = only(now, one.symbol)
        if own and ast.dump(own.node) in code:
            found.append(one)
    return tuple(found)


def new_in(now: Module, wanted: Module) -> list[NewDefinition]:
    """Return what the wanted module defines and the other one does not, under that name."""
    found: list[NewDefinition] = []
    for name, definitions in wanted.definitions.items():
        known = {ast.dump(one.node) for one in now.definitions.get(name, [])}
        for one in definitions:
            if ast.dump(one.node) not in known:
                found.append(NewDefinition(module=wanted, definition=one))
    return found


def left_for_others(gone: Sequence[Operation], files: Sequence[EditedFile], now: PatchedTree) -> Iterator[Problem]:
    """Yield a problem for each edited file to which the code of operations was moved that would go.

    `now` is what the overlay gives, without notices.
    """
    modules: dict[str, Module] = {}
    for one in files:
        module = _module(one.path, one.content) if one.path.endswith(".py") else None
        if module:
            modules[one.path] = module
    for path in dict.fromkeys(one.path for one in gone):
        kept = modules.get(path)
        mine = [one for one in gone if one.path == path and not (kept and chosen(kept, one.symbol))]
        tops = dict.fromkeys(one.name.partition(".")[0] for one in mine)
        before = Module(path, now.after(path) or b"")
        for other, wanted in modules.items():
            if other == path:
                continue
            new = new_in(_module(other, now.after(other)) or Module(other, b""), wanted)
            found: list[Operation] = []
            for top in tops:
                found += still_wanted(top, mine, before, new)
            if found:
                yield _problem(path, other, found)


def _module(path: str, content: bytes | None) -> Module | None:
    try:
        return None if content is None else Module(path, content)
    except MergeError:  # an added file may be no Python of this version
        return None


def _problem(path: str, other: str, found: Sequence[Operation]) -> Problem:
    named = listed_with_reasons(found)
    what = f"its text was moved to {other}, and these operations would be deleted with their reasons: {named}"
    fix = (
        "move it back to where upstream has it; or delete those operations from the overlay first, make another"
        " checkout, and move it there: it then counts as new, with reasons of its own"
    )
    return Problem(where=path, what=what, fix=fix)
