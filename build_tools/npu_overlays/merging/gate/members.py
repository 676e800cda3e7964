"""Members: examined tree → attributes of classes that are taken away, and the places that still ask for them.

They are taken away with what a class's body binds, with what its methods set on its objects, and with its bases.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from npu_overlays.errors import listing
from npu_overlays.merging.gate.asking import (
    OPERATORS,
    excused,
    is_local,
    is_operator,
    is_self,
    made_by,
    of_class,
    receivers,
)
from npu_overlays.merging.gate.blame import Report
from npu_overlays.merging.gate.examined import Examined
from npu_overlays.merging.gate.kin import Kin, class_around, enclosing
from npu_overlays.merging.gate.lineage import Place
from npu_overlays.merging.gate.makers import may_be_given
from npu_overlays.syntax.definitions import FUNCTIONS

_KEEP = "keep it, or change those places too"


@dataclass(frozen=True, kw_only=True)
class _Loss:
    """A member that is gone from a class.

    Args:
        name: its name.
        place: the class.
        without: those whose objects have it no more.
        bound: whether a class's body bound it, and no method set it.
        inherited: whether a base had it that is gone.
    """

    name: str
    place: Place
    without: frozenset[Place]
    bound: bool
    inherited: bool


def report_lost_members(examined: Examined, report: Report) -> None:
    """Report members of classes that the overlay takes away, no base has, and the shipped modules still ask for.

    What an object is that stands in a variable is known of ``self`` and ``cls``, of parameters by their annotations,
    and of what is made in the same function.
    """
    before, after = Kin(examined.before), Kin(examined.after)
    for path in sorted(examined.tree.changed):
        old, new = examined.tree.before(path), examined.tree.after(path)
        if old is None or new is None or not examined.name(path) or not path.endswith(".py"):
            continue
        for place in before.lineage.classes(path):
            if after.lineage.node(place) is None:
                continue
            for loss in _losses(before, after, place):
                given = may_be_given(after, place, loss.name, bound=loss.bound)
                if not given and (loss.bound or not examined.sets_elsewhere(loss.name)):
                    _report(examined, report, loss, list(_askers(after, loss)), before.gives(place).get(loss.name, ()))


def _report(examined: Examined, report: Report, loss: _Loss, places: list[str], methods: Iterable[str]) -> None:
    """Report a loss that is asked for; the methods of the class that set it are where it may have gone."""
    path, symbol = loss.place
    if places:
        what = f"`{symbol}.{loss.name}` is taken away from {path}, but needed in {listing(places)}"
        report.add(examined.blame.changer(loss.place, [loss.name, *sorted(methods)]), what, _KEEP)


def _losses(before: Kin, after: Kin, place: Place) -> Iterator[_Loss]:
    """Yield what a class gave its objects, itself or by a base it has no more, and that they lack now."""
    bases = set(before.lineage.bases(place)) - set(after.lineage.bases(place))
    same = before.members(place) == after.members(place) and before.lineage.text(place) == after.lineage.text(place)
    if same and not bases:
        return
    inherited = {name for base in bases for one in before.line(base) for name in before.gives(one)}
    own = set(before.gives(place)) - set(after.gives(place))
    for name in sorted(one for one in own | inherited if after.has(place, one) is False):
        lacking = frozenset(one for one in (place, *after.heirs(place)) if after.has(one, name) is False)
        bound = before.owner(place, name) is not None
        yield _Loss(name=name, place=place, without=lacking, bound=bound, inherited=name in inherited)


def _askers(kin: Kin, loss: _Loss) -> Iterator[str]:
    """Yield the places that ask for a lost member, as ``path:line (expression)``."""
    word = _word_of(loss)
    for path, content in kin.texts.items():
        module = kin.lineage.module(path) if word.search(content) else None
        found: list[tuple[int, int, str]] = []
        if module:
            around = enclosing(module)
            unsure = excused(around, loss.name)
            for node in around:
                for asked in receivers(node, loss.name) if node not in unsure else ():
                    of_object = not is_operator(node, loss.name) or not _is_class(kin, path, asked, around)
                    if of_object and _is_without(kin, path, of_class(asked), around, loss):
                        shown = ast.unparse(node).strip().splitlines()[0].rstrip(":")
                        found.append((asked.lineno, asked.col_offset, shown))
        yield from (f"{path}:{line} ({shown})" for line, _, shown in sorted(found))


def _word_of(loss: _Loss) -> re.Pattern[bytes]:
    """Return what a module's text holds that may ask for a lost member: looking at all of them takes long."""
    name = re.escape(loss.name.encode())
    if loss.name not in OPERATORS:
        return re.compile(rb"\.\s*%s\b|getattr\([^()]*%s" % (name, name))
    classes = sorted({re.escape(one[1].rpartition(".")[2].encode()) for one in loss.without})
    return re.compile(rb"\b(?:%s)\b" % b"|".join(classes))


def _is_class(kin: Kin, path: str, asked: ast.expr, around: Mapping[ast.AST, tuple[ast.stmt, ...]]) -> bool:
    """Return whether what is asked is a class, of which Python asks nothing that its objects have."""
    root = ast.unparse(asked).partition(".")[0]
    return not isinstance(asked, ast.Call) and not is_local(root, around[asked]) and bool(kin.meant(path, asked))


def _is_without(
    kin: Kin, path: str, asked: ast.expr, around: Mapping[ast.AST, tuple[ast.stmt, ...]], loss: _Loss
) -> bool:
    """Return whether what is asked is of a class that has lost the member, or such a class."""
    outer = around[asked]
    owner = class_around(path, outer)
    if isinstance(asked, ast.Call) and getattr(asked.func, "id", "") == "super":
        return owner is not None and _is_above(kin, owner, loss)
    if owner and isinstance(asked, ast.Name) and is_self(asked, outer):
        method = next(one.name for one in outer if isinstance(one, FUNCTIONS))
        return any(owner in kin.line(one) and kin.owner(one, method) == owner for one in loss.without)
    named = asked.func if isinstance(asked, ast.Call) else asked
    if is_local(ast.unparse(named).partition(".")[0], outer):
        given = made_by(asked.id, outer) if isinstance(asked, ast.Name) else None
        return given is not None and kin.meant(path, given) in loss.without
    return kin.meant(path, named) in loss.without


def _is_above(kin: Kin, owner: Place, loss: _Loss) -> bool:
    """Return whether behind a class, where ``super()`` looks, the member was and nothing has it now."""
    behind = kin.line(owner)[1:]
    had = loss.place in behind or (loss.inherited and owner == loss.place)
    gone = had and not any(loss.name in kin.members(one) for one in behind)
    return gone and all(kin.foreign(one, loss.name) is False for one in kin.line(owner))
