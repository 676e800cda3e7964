"""Exchanging: a merge module, and what is decided of its operations → the module without them, or with them renamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from npu_overlays.errors import Problem, UsageError
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import leaf_of, owner_of
from npu_overlays.model.texts import renamed
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.project import Layer
from npu_overlays.porting.restating import Move
from npu_overlays.refreshing.rewriting import Written, rewritten
from npu_overlays.tree import SourceTree


def exchanged(
    layer: Layer, path: str, gone: Sequence[Operation], moves: Sequence[Move], now: SourceTree
) -> bytes | None:
    """Return a file of a pin's ``tree/`` or ``shared/`` with operations taken out or renamed; None where none is left.

    What moves to another file is only taken out, unless it is shared: that names its targets, wherever they are.

    Args:
        layer: the pin's.
        path: of the file in it.
        gone: operations in it that go.
        moves: operations in it whose targets stand elsewhere now.
        now: upstream.

    Raises:
        OverlayError: it cannot be done without changing what else the file says.
    """
    label, content = layer.label(path), (layer.folder / path).read_bytes()
    target = path.removeprefix("tree/") if path.startswith("tree/") else ""
    known = read_operations(label, content, layer=layer.name, target=target)
    written = [*_taken(gone, moves)] if target else [*_shared(known, gone, moves)]
    new = [moved(one) for one in moves if one.path == target and not _stays(one)]
    order = [name.partition(".")[0] for name in Module(target, now.read(target)).definitions] if new else []
    text = rewritten(label, content, written, new, order)
    found = read_operations(label, text, layer=layer.name, target=target) if text is not None else ()
    touched = [*gone, *(one.operation for one in moves)]
    there = {(one.path, one.symbol) for one in moves if not target or one.path == target}
    places = set(map(_place, touched))
    kept = [_words(one) for one in known if _place(one) not in places]
    if len(found) != len(kept) + len(there) or kept != [_words(one) for one in found if _name(one) not in there]:
        what = "cannot be taken out by itself: something else in its file would be changed with it"
        raise UsageError(
            Problem(
                where=one.where,
                what=what,
                fix="edit or delete it, then --continue",
                targets=(f"{one.path}:{one.symbol}",),
            )
            for one in touched
        )
    return text


def moved(move: Move) -> Operation:
    """Return an operation that says at its new place what it says at the old one."""
    one = move.operation
    text = renamed(one.text, leaf_of(move.symbol)) if one.text and one.kind != "attribute" else one.text
    return replace(one, path=move.path, symbol=move.symbol, text=text, shared="")


def is_stated(move: Move, said: object) -> bool:
    """Return whether something that an overlay says is what a moved operation is to say at its new place."""
    return isinstance(said, Operation) and _meaning(said) == _meaning(moved(move))


def _stays(move: Move) -> bool:
    """Return whether an operation is stated where it stands, under another name."""
    one = move.operation
    owners = (one.owner, owner_of(move.symbol))
    return one.path == move.path and owners[0] == owners[1] and one.action != "deleted"


def _taken(gone: Sequence[Operation], moves: Sequence[Move]) -> Iterator[Written]:
    # Of several on one line, one stands for all.
    yield from (Written(known=one, wanted=None) for one in {one.where: one for one in gone}.values())
    yield from (Written(known=one.operation, wanted=moved(one) if _stays(one) else None) for one in moves)


def _shared(known: Sequence[Operation], gone: Sequence[Operation], moves: Sequence[Move]) -> Iterator[Written]:
    """Yield what becomes of shared definitions: the targets that they have then."""
    left = set(map(_place, gone))
    to = {_place(one.operation): f"{one.path}:{one.symbol}" for one in moves}
    for where in dict.fromkeys(place[0] for place in (*left, *to)):
        there = [one for one in known if one.where == where]
        targets = [to.get(_place(one), f"{one.path}:{one.symbol}") for one in there if _place(one) not in left]
        yield Written(known=there[0], wanted=None, targets=tuple(targets))


def _place(one: Operation) -> tuple[str, str, str]:
    return one.where, one.path, one.symbol


def _name(one: Operation) -> tuple[str, str]:
    return one.path, one.symbol


def _words(one: Operation) -> Operation:
    """Return an operation without where it stands; what shared ones call each other follows their names."""
    return replace(one, where="", before="", text="" if one.shared else one.text)


def _meaning(one: Operation) -> tuple[object, ...]:
    return one.path, one.symbol, one.action, one.kind, one.text, one.annotation, one.edits
