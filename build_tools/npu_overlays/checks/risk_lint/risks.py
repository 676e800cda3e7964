"""Risks: the pieces of an overlay → what is dangerous in each, and whether its author lets that stand."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from npu_overlays.checks.risk_lint.code_changes import CodeChange, pieces
from npu_overlays.checks.risk_lint.risk_words import MEANT, kinds, kinds_of_path
from npu_overlays.checks.risk_lint.statement_diff import CodeStatement
from npu_overlays.checks.risk_lint.touched_names import touched
from npu_overlays.checks.risk_lint.unwanted_code import brought
from npu_overlays.errors import Problem, by_cause
from npu_overlays.merge.results import Applied
from npu_overlays.overlay.acceptances import Acceptance
from npu_overlays.overlay.content import Content

_UNNOTICED = "where that is wrong, training goes on and ends with another model"
_MEANING = {
    "advantage": ("touches advantages", _UNNOTICED),
    "checkpoint": ("touches checkpoints", "where that is wrong, it is noticed when one is needed"),
    "debugger": ("brings in a debugger", "a job waits there for somebody to type"),
    "exception": ("swallows errors", "what failed goes on as if it had not"),
    "loss": ("touches a loss", _UNNOTICED),
    "print": ("prints", "every process does, past all log levels"),
    "random": ("draws random numbers", "runs no longer repeat, and ranks can differ"),
    "reward": ("touches rewards", _UNNOTICED),
    "seed": ("touches seeds", "runs may no longer repeat, or ranks draw the same numbers"),
}
_HOW = {
    "operation": "accept=[…] of its marker",
    "edit": "accept = […] in its table",
    "patch": "lines `Accept: …` above its first `diff --git`",
    "file": "accept = […] in a table [[file]] of its layer",
}
_WIDTH = 70


@dataclass(frozen=True, kw_only=True)
class Risk:
    """One kind of danger in one change."""

    kind: str  # one of `npu_overlays.overlay.acceptances.KINDS`
    piece: CodeChange  # the change
    where: str  # the place in the overlay
    shown: str  # what shows it: a piece of code, a line or a name
    accepted: Acceptance | None  # why its author lets it stand; None where nobody does

    @property
    def why(self) -> str:
        """What it does, and why that is dangerous."""
        what, why = _MEANING[self.kind]
        return f"{what}: {why}"

    def problem(self) -> Problem:
        """Return it as it is told."""
        what, why = _MEANING[self.kind]
        fix = f'look at it; where it is right, say so by {_HOW[self.piece.sort]}: "{self.kind}: why that is right"'
        told = f"{self.piece.does} {what}, as `{self.shown}` shows; {why}"
        return Problem(where=self.where, what=told, fix=fix, targets=(self.piece.target,))


@dataclass(frozen=True, kw_only=True)
class OverlayRisks:
    """What was seen in one overlay: its name, its changes, and what is dangerous in them."""

    name: str
    pieces: tuple[CodeChange, ...]
    dangers: tuple[Risk, ...]


def look(content: Content, applied: Applied) -> OverlayRisks:
    """Return what is dangerous in an overlay, given what applying it to its upstream gave."""
    listed = tuple(pieces(content, applied))
    return OverlayRisks(
        name=content.overlay.name, pieces=listed, dangers=tuple(found for piece in listed for found in _of(piece))
    )


def warnings(looked: Iterable[OverlayRisks], shared: Container[str] = ()) -> list[Problem]:
    """Return what is to be told of overlays: dangers that nobody accepts, and what accepts none, each once.

    What pins share may be dangerous on one of them only, and is accepted for all of them.

    Args:
        looked: what was seen in overlays.
        shared: the layers that others are made of too: what is accepted there, may be there for those.
    """
    listed = list(looked)
    open_ones = [one.problem() for each in listed for one in each.dangers if one.accepted is None]
    return by_cause([*open_ones, *_idle(listed, shared)])


def _idle(looked: list[OverlayRisks], shared: Container[str]) -> Iterator[Problem]:
    there = {(one.piece.said, one.kind) for each in looked for one in each.dangers}
    for piece in (piece for each in looked for piece in each.pieces):
        for one in () if piece.layer in shared else piece.accept:
            if (piece.said, one.kind) not in there:
                names = ", ".join(
                    each.name for each in looked if any(other.said == piece.said for other in each.pieces)
                )
                what = f"accepts {one.kind}, and nothing in it {_MEANING[one.kind][0]} on {names}"
                yield Problem(where=piece.where, what=what, fix=f"take `{one.kind}` out of accept")


def _of(piece: CodeChange) -> Iterator[Risk]:
    accepted = {one.kind: one for one in piece.accept}
    shown: dict[str, tuple[str, str]] = {}
    for kind, text, where in _witnessed_kinds(piece):
        shown.setdefault(kind, (text, where))
    for kind, (text, where) in sorted(shown.items()):
        yield Risk(kind=kind, piece=piece, where=where, shown=text, accepted=accepted.get(kind))


def _witnessed_kinds(piece: CodeChange) -> Iterator[tuple[str, str, str]]:
    """Yield each kind of danger with what shows it and where, the best witness first."""
    added = {key: one for one in piece.added for key in _witnesses(one, piece)}
    removed = {key: one for one in piece.removed for key in _witnesses(one, piece)}
    for key, one in added.items():
        if key not in removed:
            yield key[0], _short(key[1]), _place(piece, one.node)
    for key in removed:
        if key not in added and key[0] in MEANT:
            yield key[0], _short(key[1]), piece.where
    for line in piece.lines:
        yield from ((kind, _short(line), piece.where) for kind in kinds(line))
    if piece.added or piece.removed or piece.lines:
        symbol = piece.target.partition(":")[2]
        yield from ((kind, symbol, piece.where) for kind in kinds(symbol))
        yield from ((kind, piece.path, piece.where) for kind in kinds_of_path(piece.path))


def _witnesses(statement: CodeStatement, piece: CodeChange) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield each kind that a statement shows, with what shows it, and under what conditions.

    What a statement has in common with one that it takes the place of, is not changed.
    """
    found = (*brought(statement, piece.imports), *touched(statement, piece.imports))
    yield from ((kind, text, statement.around) for kind, text in found)


def _place(piece: CodeChange, node: ast.AST) -> str:
    return piece.places(node) if piece.places else piece.where


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
