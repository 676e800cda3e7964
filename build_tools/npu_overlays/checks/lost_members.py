"""Lost members: patched tree → attributes of classes that are taken away, and the places that still ask for them.

They are taken away with what a class's body binds, with what its methods set on its objects, and with its bases.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from npu_overlays.checks.attribution import ProblemReport
from npu_overlays.checks.context import CheckContext
from npu_overlays.checks.member_access import OPERATORS, excused, is_operator, of_class, receivers
from npu_overlays.errors import listing
from npu_overlays.model import Symbol
from npu_overlays.model.class_graph import ClassGraph, class_around, enclosing
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.dynamic_members import may_be_given
from npu_overlays.model.local_names import is_local, is_self, made_by

_KEEP = "keep it, or change those places too"


@dataclass(frozen=True, kw_only=True)
class _Loss:
    """A member that is gone from a class."""

    name: str  # its name
    symbol: Symbol  # the class
    without: frozenset[Symbol]  # those whose objects have it no more
    bound: bool  # whether a class's body bound it, and no method set it
    inherited: bool  # whether a base had it that is gone


def report_lost_members(context: CheckContext, report: ProblemReport) -> None:
    """Report members of classes that the overlay takes away, no base has, and the shipped modules still ask for.

    What an object is that stands in a variable is known of ``self`` and ``cls``, of parameters by their annotations,
    and of what is made in the same function.
    """
    before, after = context.before.classes, context.after.classes
    for path in sorted(context.tree.changed):
        old, new = context.tree.before(path), context.tree.after(path)
        if old is None or new is None or not context.name(path) or not path.endswith(".py"):
            continue
        for symbol in before.classes(path):
            if after.node(symbol) is None:
                continue
            for loss in _losses(before, after, symbol):
                given = may_be_given(after, symbol, loss.name, bound=loss.bound)
                if not given and (loss.bound or not context.sets_elsewhere(loss.name)):
                    _report(context, report, loss, list(_askers(after, loss)), before.gives(symbol).get(loss.name, ()))


def _report(
    context: CheckContext, report: ProblemReport, loss: _Loss, places: list[str], methods: Iterable[str]
) -> None:
    """Report a loss that is asked for; the methods of the class that set it are where it may have gone."""
    path, name = loss.symbol
    if places:
        what = f"`{name}.{loss.name}` is taken away from {path}, but needed in {listing(places)}"
        report.add(context.attribution.changer(loss.symbol, [loss.name, *sorted(methods)]), what, _KEEP)


def _losses(before: ClassGraph, after: ClassGraph, symbol: Symbol) -> Iterator[_Loss]:
    """Yield what a class gave its objects, itself or by a base it has no more, and that they lack now."""
    bases = set(before.bases(symbol).actual) - set(after.bases(symbol).actual)
    same = before.members(symbol) == after.members(symbol) and before.text(symbol) == after.text(symbol)
    if same and not bases:
        return
    inherited = {
        name for base in bases if isinstance(base, Symbol) for one in before.line(base) for name in before.gives(one)
    }
    own = set(before.gives(symbol)) - set(after.gives(symbol))
    for name in sorted(one for one in own | inherited if after.has(symbol, one) is False):
        lacking = frozenset(one for one in (symbol, *after.heirs(symbol)) if after.has(one, name) is False)
        bound = before.owner(symbol, name) is not None
        yield _Loss(name=name, symbol=symbol, without=lacking, bound=bound, inherited=name in inherited)


def _askers(graph: ClassGraph, loss: _Loss) -> Iterator[str]:
    """Yield the places that ask for a lost member, as ``path:line (expression)``."""
    word = _word_of(loss)
    for path, content in graph.texts.items():
        module = graph.module(path) if word.search(content) else None
        found: list[tuple[int, int, str]] = []
        if module:
            around = enclosing(module)
            unsure = excused(around, loss.name)
            for node in around:
                for asked in receivers(node, loss.name) if node not in unsure else ():
                    of_object = not is_operator(node, loss.name) or not _is_class(graph, path, asked, around)
                    if of_object and _is_without(graph, path, of_class(asked), around, loss):
                        shown = ast.unparse(node).strip().splitlines()[0].rstrip(":")
                        found.append((asked.lineno, asked.col_offset, shown))
        yield from (f"{path}:{line} ({shown})" for line, _, shown in sorted(found))


def _word_of(loss: _Loss) -> re.Pattern[bytes]:
    """Return what a module's text holds that may ask for a lost member: looking at all of them takes long."""
    name = re.escape(loss.name.encode())
    if loss.name not in OPERATORS:
        return re.compile(rb"\.\s*%s\b|getattr\([^()]*%s" % (name, name))
    classes = sorted({re.escape(one.name.rpartition(".")[2].encode()) for one in loss.without})
    return re.compile(rb"\b(?:%s)\b" % b"|".join(classes))


def _is_class(graph: ClassGraph, path: str, asked: ast.expr, around: Mapping[ast.AST, tuple[ast.stmt, ...]]) -> bool:
    """Return whether what is asked is a class, of which Python asks nothing that its objects have."""
    root = ast.unparse(asked).partition(".")[0]
    return not isinstance(asked, ast.Call) and not is_local(root, around[asked]) and bool(graph.meant(path, asked))


def _is_without(
    graph: ClassGraph, path: str, asked: ast.expr, around: Mapping[ast.AST, tuple[ast.stmt, ...]], loss: _Loss
) -> bool:
    """Return whether what is asked is of a class that has lost the member, or such a class."""
    outer = around[asked]
    owner = class_around(path, outer)
    if isinstance(asked, ast.Call) and getattr(asked.func, "id", "") == "super":
        return owner is not None and _is_above(graph, owner, loss)
    if owner and isinstance(asked, ast.Name) and is_self(asked, outer):
        method = next(one.name for one in outer if isinstance(one, FUNCTIONS))
        return any(owner in graph.line(one) and graph.owner(one, method) == owner for one in loss.without)
    named = asked.func if isinstance(asked, ast.Call) else asked
    if is_local(ast.unparse(named).partition(".")[0], outer):
        given = made_by(asked.id, outer) if isinstance(asked, ast.Name) else None
        return given is not None and graph.meant(path, given) in loss.without
    return graph.meant(path, named) in loss.without


def _is_above(graph: ClassGraph, owner: Symbol, loss: _Loss) -> bool:
    """Return whether behind a class, where ``super()`` looks, the member was and nothing has it now."""
    behind = graph.line(owner)[1:]
    had = loss.symbol in behind or (loss.inherited and owner == loss.symbol)
    gone = had and not any(loss.name in graph.members(one) for one in behind)
    return gone and all(graph.foreign(one, loss.name) is False for one in graph.line(owner))
