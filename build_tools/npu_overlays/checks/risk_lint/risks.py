"""Risks: the changes of an overlay → the dangers in each, and whether its author accepts them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from npu_overlays.checks.risk_lint.code_changes import CodeChange, code_changes
from npu_overlays.checks.risk_lint.risk_signs import NAMED_KINDS, kinds_of_name, kinds_of_path, risk_signs
from npu_overlays.checks.risk_lint.statement_diff import CodeStatement
from npu_overlays.errors import Problem, by_cause
from npu_overlays.merge.results import Applied
from npu_overlays.overlay.acceptances import Acceptance
from npu_overlays.overlay.content import Content

_UNNOTICED = "a mistake there raises no error and trains a different model"
# By kind what a change does, and why that is dangerous.
_RULES = {
    "advantage": ("touches advantages", _UNNOTICED),
    "checkpoint": ("touches checkpoints", "a mistake there shows only when a checkpoint is loaded"),
    "debugger": ("brings in a debugger", "a job waits there for input"),
    "exception": ("swallows errors", "code after it runs as if nothing had failed"),
    "loss": ("touches a loss", _UNNOTICED),
    "print": ("prints", "every process prints, at every log level"),
    "random": ("draws random numbers", "runs no longer repeat, and ranks can differ"),
    "reward": ("touches rewards", _UNNOTICED),
    "seed": ("touches seeds", "runs may no longer repeat, or ranks draw the same numbers"),
}
# By sort of change how its author accepts a kind.
_ACCEPT = {
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
    change: CodeChange
    where: str  # the place in the overlay
    shown: str  # what shows it: a piece of code, a line or a name
    accepted: Acceptance | None  # why its author lets it stand; None where nobody does

    @property
    def why(self) -> str:
        """What the change does, and why that is dangerous."""
        what, why = _RULES[self.kind]
        return f"{what}: {why}"

    def problem(self) -> Problem:
        """Return it as a problem."""
        what, why = _RULES[self.kind]
        fix = (
            f'review it; where it is right, accept it by {_ACCEPT[self.change.sort]}: "{self.kind}: why that is right"'
        )
        text = f"{self.change.does} {what}, as `{self.shown}` shows; {why}"
        return Problem(where=self.where, what=text, fix=fix, targets=(self.change.target,))


@dataclass(frozen=True, kw_only=True)
class OverlayRisks:
    """One overlay's name, its changes, and the risks in them."""

    name: str
    changes: tuple[CodeChange, ...]
    risks: tuple[Risk, ...]


def overlay_risks(content: Content, applied: Applied) -> OverlayRisks:
    """Return the dangers in an overlay, given the result of applying it."""
    changes = tuple(code_changes(content, applied))
    risks: list[Risk] = []
    for change in changes:
        risks += _risks_of(change)
    return OverlayRisks(name=content.overlay.name, changes=changes, risks=tuple(risks))


def risk_problems(overlays: Iterable[OverlayRisks], shared: Container[str] = ()) -> list[Problem]:
    """Return the risks that nobody accepts, and acceptances without a risk, each once.

    A shared operation may be dangerous on one pin only; its acceptance holds for all.

    Args:
        overlays: those that are looked at.
        shared: the layers of other overlays too: their acceptances may have their risk there.
    """
    listed = list(overlays)
    problems: list[Problem] = []
    for overlay in listed:
        problems += [one.problem() for one in overlay.risks if one.accepted is None]
    return by_cause([*problems, *_unused_acceptances(listed, shared)])


def _unused_acceptances(overlays: list[OverlayRisks], shared: Container[str]) -> Iterator[Problem]:
    found: set[tuple[tuple[str, ...], str]] = set()
    names: dict[tuple[str, ...], dict[str, None]] = {}
    for overlay in overlays:
        found |= {(risk.change.source, risk.kind) for risk in overlay.risks}
        for change in overlay.changes:
            names.setdefault(change.source, {})[overlay.name] = None
    for overlay in overlays:
        for change in overlay.changes:
            kinds = [one.kind for one in change.accept if (change.source, one.kind) not in found]
            if change.layer in shared:
                continue
            for kind in kinds:
                what = f"accepts {kind}, and nothing in it {_RULES[kind][0]} on {', '.join(names[change.source])}"
                yield Problem(where=change.where, what=what, fix=f"take `{kind}` out of accept")


class _Sign(NamedTuple):
    """A kind of risk, the code that shows it, and its place."""

    kind: str
    shown: str
    where: str


def _risks_of(change: CodeChange) -> Iterator[Risk]:
    accepted = {one.kind: one for one in change.accept}
    first: dict[str, _Sign] = {}
    for sign in _signs(change):
        first.setdefault(sign.kind, sign)
    for kind, sign in sorted(first.items()):
        yield Risk(kind=kind, change=change, where=sign.where, shown=sign.shown, accepted=accepted.get(kind))


def _signs(change: CodeChange) -> Iterator[_Sign]:
    """Yield the signs of risk in a change, the best one of each kind first."""
    added, removed = _signs_of(change.added, change), _signs_of(change.removed, change)
    # What a statement has in common with one that it takes the place of is not changed.
    for key, statement in added.items():
        if key not in removed:
            where = change.places(statement.node) if change.places else change.where
            yield _Sign(key[0], _short(key[1]), where)
    for key in removed:
        if key not in added and key[0] in NAMED_KINDS:
            yield _Sign(key[0], _short(key[1]), change.where)
    for line in change.lines:
        for kind in kinds_of_name(line):
            yield _Sign(kind, _short(line), change.where)
    if change.added or change.removed or change.lines:
        symbol = change.target.partition(":")[2]
        for kind in kinds_of_name(symbol):
            yield _Sign(kind, symbol, change.where)
        for kind in kinds_of_path(change.path):
            yield _Sign(kind, change.path, change.where)


def _signs_of(
    statements: Iterable[CodeStatement], change: CodeChange
) -> dict[tuple[str, str, tuple[str, ...]], CodeStatement]:
    """Return statements by their kind of risk, the code that shows it, and the conditions around them."""
    found: dict[tuple[str, str, tuple[str, ...]], CodeStatement] = {}
    for statement in statements:
        for kind, shown in risk_signs(statement, change.imports):
            found[kind, shown, statement.around] = statement
    return found


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
