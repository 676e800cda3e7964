"""Lost members: patched tree → attributes that classes no longer have, and the places that still read them.

A class loses a member with a binding in its body, an assignment in a method, or a base.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from npu_overlays.checks.attribution import ProblemReport
from npu_overlays.checks.context import CheckContext
from npu_overlays.checks.member_access import (
    OPERATORS,
    Around,
    is_operator,
    nodes_mentioning,
    of_class,
    receivers,
    unsure_nodes,
)
from npu_overlays.checks.references import any_word
from npu_overlays.errors import listing
from npu_overlays.model import Symbol
from npu_overlays.model.class_graph import ClassGraph, class_around
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.dynamic_members import may_have_dynamic_member
from npu_overlays.model.local_names import class_of_local, is_local, is_self
from npu_overlays.model.syntax import called, is_name

_KEEP = "keep it, or change those places too"


@dataclass(frozen=True, kw_only=True)
class _Loss:
    """A member that a class no longer has."""

    name: str
    symbol: Symbol  # the class
    without: frozenset[Symbol]  # the classes whose objects lack it now
    bound: bool  # whether a class's body bound it, and no method set it
    inherited: bool  # whether a base had it that the class no longer has


def report_lost_members(context: CheckContext, report: ProblemReport) -> None:
    """Report members that the overlay removes, that no base has, and that shipped modules still read.

    The class of a variable is known for ``self``, ``cls``, annotated parameters, and objects made in the same function.
    """
    before, after = context.before.classes, context.after.classes
    for path in filter(context.name, context.changed_modules):
        for symbol in before.classes(path):
            losses = _losses(before, after, symbol) if after.node(symbol) else []
            for loss in losses:
                given = may_have_dynamic_member(after, symbol, loss.name, bound=loss.bound)
                if not given and (loss.bound or not context.sets_elsewhere(loss.name)):
                    _report_loss(context, report, loss, before.gives(symbol).get(loss.name, ()))


def _report_loss(context: CheckContext, report: ProblemReport, loss: _Loss, methods: Iterable[str]) -> None:
    """Report a loss that something reads; any method of the class that set it may be the cause."""
    path, name = loss.symbol
    if places := list(_askers(context.after.classes, loss)):
        what = f"`{name}.{loss.name}` is taken away from {path}, but needed in {listing(places)}"
        report.add(context.attribution.changer(loss.symbol, [loss.name, *sorted(methods)]), what, _KEEP)


def _losses(before: ClassGraph, after: ClassGraph, symbol: Symbol) -> list[_Loss]:
    """Return the members that objects of a class had, by itself or a removed base, and lack now."""
    bases = set(before.bases(symbol).actual) - set(after.bases(symbol).actual)
    same = before.members(symbol) == after.members(symbol) and before.text(symbol) == after.text(symbol)
    if same and not bases:
        return []
    inherited: set[str] = set()
    for base in bases:
        if isinstance(base, Symbol):
            inherited.update(*(before.gives(one) for one in before.line(base)))
    own = set(before.gives(symbol)) - set(after.gives(symbol))
    found: list[_Loss] = []
    for name in sorted(own | inherited):
        if after.has(symbol, name) is False:
            lacking = frozenset(one for one in (symbol, *after.heirs(symbol)) if after.has(one, name) is False)
            bound = before.owner(symbol, name) is not None
            found.append(_Loss(name=name, symbol=symbol, without=lacking, bound=bound, inherited=name in inherited))
    return found


def _askers(graph: ClassGraph, loss: _Loss) -> Iterator[str]:
    """Yield the places that read a lost member, as ``path:line (expression)``."""
    for path, around in nodes_mentioning(graph, _mention_of(loss)):
        found: list[tuple[int, int, str]] = []
        for node in around.keys() - unsure_nodes(around, loss.name):
            operator = is_operator(node, loss.name)
            for asked in receivers(node, loss.name):
                of_object = not operator or not _is_class(graph, path, asked, around)
                if of_object and _is_without(graph, path, of_class(asked), around, loss):
                    shown = ast.unparse(node).strip().splitlines()[0].rstrip(":")
                    found.append((asked.lineno, asked.col_offset, shown))
        for line, _, shown in sorted(found):
            yield f"{path}:{line} ({shown})"


def _mention_of(loss: _Loss) -> re.Pattern[bytes]:
    """Return the words that a module must contain to read a lost member."""
    if loss.name in OPERATORS:
        return any_word(one.name.rpartition(".")[2] for one in loss.without)
    name = re.escape(loss.name.encode())
    return re.compile(rb"\.\s*%s\b|getattr\([^()]*%s" % (name, name))


def _is_class(graph: ClassGraph, path: str, asked: ast.expr, around: Around) -> bool:
    """Return whether an expression is a class, in which Python does not look up operators of its objects."""
    root = ast.unparse(asked).partition(".")[0]
    return (
        not isinstance(asked, ast.Call)
        and not is_local(root, around[asked])
        and bool(graph.resolved_class(path, asked))
    )


def _is_without(graph: ClassGraph, path: str, asked: ast.expr, around: Around, loss: _Loss) -> bool:
    """Return whether an expression is a class that lost the member, or an object of one."""
    outer = around[asked]
    owner = class_around(path, outer)
    if isinstance(asked, ast.Call) and is_name(asked.func, "super"):
        return owner is not None and _is_above(graph, owner, loss)
    if owner and isinstance(asked, ast.Name) and is_self(asked, outer):
        method = next(one.name for one in outer if isinstance(one, FUNCTIONS))
        return any(owner in graph.line(one) and graph.owner(one, method) == owner for one in loss.without)
    named = called(asked)
    if is_local(ast.unparse(named).partition(".")[0], outer):
        given = class_of_local(asked.id, outer) if isinstance(asked, ast.Name) else None
        return given is not None and graph.resolved_class(path, given) in loss.without
    return graph.resolved_class(path, named) in loss.without


def _is_above(graph: ClassGraph, owner: Symbol, loss: _Loss) -> bool:
    """Return whether ``super()`` of a class found the member before and does not find it now."""
    behind = graph.line(owner)[1:]
    had = loss.symbol in behind or (loss.inherited and owner == loss.symbol)
    gone = had and not any(loss.name in graph.members(one) for one in behind)
    return gone and all(graph.foreign(one, loss.name) is False for one in graph.line(owner))
