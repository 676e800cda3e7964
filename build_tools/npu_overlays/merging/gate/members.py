"""Members: examined tree → attributes of classes that are taken away, and the places that still ask for them.

They are taken away with what a class's body binds, with what its methods set on its objects, and with its bases.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from npu_overlays.errors import listing
from npu_overlays.merging.gate.blame import Culprit, Report
from npu_overlays.merging.gate.examined import Examined
from npu_overlays.merging.gate.kin import Kin, enclosing
from npu_overlays.merging.gate.lineage import Place
from npu_overlays.merging.gate.references import guarded_parts
from npu_overlays.syntax.definitions import FUNCTIONS, FunctionNode
from npu_overlays.syntax.functions import first_parameter

_SETTING = re.compile(r"\bsetattr\(|\bvars\(|\.__dict__\b")
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
                if loss.bound or not (_sets_anything(after, place) or examined.sets_elsewhere(loss.name)):
                    _report(examined, report, loss, list(_askers(after, loss)), before.gives(place).get(loss.name, ()))


def _report(examined: Examined, report: Report, loss: _Loss, places: list[str], methods: Iterable[str]) -> None:
    """Report a loss that is asked for; the methods of the class that set it are where it may have gone."""
    path, symbol = loss.place
    if places:
        what = f"`{symbol}.{loss.name}` is taken away from {path}, but needed in {listing(places)}"
        report.add(_culprit(examined, loss.place, [loss.name, *sorted(methods)]), what, _KEEP)


def _losses(before: Kin, after: Kin, place: Place) -> Iterator[_Loss]:
    """Yield what a class gave its objects, itself or by a base it has no more, and that they lack now."""
    bases = set(before.lineage.bases(place)) - set(after.lineage.bases(place))
    inherited = {name for base in bases for one in before.line(base) for name in before.gives(one)}
    own = set(before.gives(place)) - set(after.gives(place))
    for name in sorted(one for one in own | inherited if after.has(place, one) is False):
        lacking = frozenset(one for one in (place, *after.heirs(place)) if after.has(one, name) is False)
        bound = before.owner(place, name) is not None
        yield _Loss(name=name, place=place, without=lacking, bound=bound, inherited=name in inherited)


def _sets_anything(kin: Kin, place: Place) -> bool:
    """Return whether some method of a class may set attributes that its text does not name."""
    nodes = (kin.lineage.node(one) for one in kin.line(place))
    return any(_SETTING.search(ast.unparse(node)) for node in nodes if node)


def _askers(kin: Kin, loss: _Loss) -> Iterator[str]:
    """Yield the places that ask for a lost member, as ``path:line (expression)``."""
    word = re.compile(rb"\.\s*%s\b|getattr\(" % re.escape(loss.name.encode()))
    for path, content in kin.texts.items():
        module = kin.lineage.module(path) if word.search(content) and loss.name.encode() in content else None
        found: list[tuple[int, int, str]] = []
        if module:
            around = enclosing(module)
            unsure = {inner for node in around for part in guarded_parts(node) for inner in ast.walk(part)}
            for node in around:
                asked = _receiver(node, loss.name) if node not in unsure else None
                if asked is not None and _is_without(kin, path, _of_class(asked), around, loss):
                    found.append((asked.lineno, asked.col_offset, ast.unparse(node)))
        yield from (f"{path}:{line} ({shown})" for line, _, shown in sorted(found))


def _receiver(node: ast.AST, name: str) -> ast.expr | None:
    """Return what is asked for a member by a node."""
    if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
        return node.value
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute) and node.target.attr == name:
        return node.target.value
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr" and len(node.args) == 2:  # noqa: PLR2004  # without a default
        return node.args[0] if getattr(node.args[1], "value", None) == name else None
    return None


def _of_class(asked: ast.expr) -> ast.expr:
    """Return the object whose class is asked, for ``type(x)`` and ``x.__class__``."""
    if isinstance(asked, ast.Call) and getattr(asked.func, "id", "") == "type" and len(asked.args) == 1:
        return asked.args[0]
    return asked.value if isinstance(asked, ast.Attribute) and asked.attr == "__class__" else asked


def _is_without(
    kin: Kin, path: str, asked: ast.expr, around: Mapping[ast.AST, tuple[ast.stmt, ...]], loss: _Loss
) -> bool:
    """Return whether what is asked is of a class that has lost the member, or such a class."""
    outer = around[asked]
    owner = _class_around(path, outer)
    if isinstance(asked, ast.Call) and getattr(asked.func, "id", "") == "super":
        return owner is not None and _is_above(kin, owner, loss)
    if owner and isinstance(asked, ast.Name) and _is_self(asked, outer):
        method = next(one.name for one in outer if isinstance(one, FUNCTIONS))
        return any(owner in kin.line(one) and kin.owner(one, method) == owner for one in loss.without)
    named = asked.func if isinstance(asked, ast.Call) else asked
    if _is_local(ast.unparse(named).partition(".")[0], outer):
        given = _given(asked.id, outer) if isinstance(asked, ast.Name) else None
        return given is not None and kin.meant(path, given) in loss.without
    return kin.meant(path, named) in loss.without


def _is_local(name: str, outer: Iterable[ast.stmt]) -> bool:
    """Return whether a function around binds a name, by a parameter or otherwise than by an import."""
    every = (node for one in outer if isinstance(one, FUNCTIONS) for node in ast.walk(one))
    return any(
        (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load))
        for node in every
    )


def _is_above(kin: Kin, owner: Place, loss: _Loss) -> bool:
    """Return whether behind a class, where ``super()`` looks, the member was and nothing has it now."""
    behind = kin.line(owner)[1:]
    had = loss.place in behind or (loss.inherited and owner == loss.place)
    gone = had and not any(loss.name in kin.members(one) for one in behind)
    return gone and all(kin.foreign(one, loss.name) is False for one in kin.line(owner))


def _class_around(path: str, outer: Iterable[ast.stmt]) -> Place | None:
    """Return the class whose method the innermost function is, or lies in."""
    names: list[str] = []
    for one in outer:
        if not isinstance(one, ast.ClassDef):
            break
        names.append(one.name)
    return (path, ".".join(names)) if names else None


def _is_self(asked: ast.Name, outer: Iterable[ast.stmt]) -> bool:
    functions = [one for one in outer if isinstance(one, FUNCTIONS)]
    return (
        bool(functions)
        and asked.id == first_parameter(functions[0])
        and not any(asked.id in _parameters(one) for one in functions[1:])
    )


def _parameters(function: FunctionNode) -> list[str]:
    return [one.arg for one in (*function.args.posonlyargs, *function.args.args)]


def _given(name: str, outer: tuple[ast.stmt, ...]) -> ast.expr | None:
    """Return the class of a local variable: a parameter's annotation, or what it is made by, where only once bound."""
    function = outer[-1] if outer and isinstance(outer[-1], FUNCTIONS) else None
    if function is None:
        return None
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    given = [_annotation(one.annotation) for one in every if one.arg == name]
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(getattr(one, "id", "") == name for one in node.targets):
            given.append(node.value.func if isinstance(node.value, ast.Call) else None)
        elif isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            given.append(None) if not _is_target(node, function) else None
    return given[0] if len(given) == 1 else None


def _is_target(name: ast.Name, function: ast.AST) -> bool:
    assignments = (node for node in ast.walk(function) if isinstance(node, ast.Assign))
    return any(name in node.targets for node in assignments)


def _annotation(node: ast.expr | None) -> ast.expr | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return _annotation(ast.parse(node.value, mode="eval").body)
        except SyntaxError:
            return None
    if isinstance(node, ast.BinOp):  # of `C | None` the class
        return next((one for one in (node.left, node.right) if not isinstance(one, ast.Constant)), None)
    optional = isinstance(node, ast.Subscript) and ast.unparse(node.value).rpartition(".")[2] == "Optional"
    return node.slice if optional and isinstance(node, ast.Subscript) else node


def _culprit(examined: Examined, place: Place, names: Iterable[str]) -> Culprit:
    wanted = [*(f"{place[1]}.{name}" for name in names), place[1]]
    for operation in examined.content.operations:
        if operation.path == place[0] and operation.symbol in wanted:
            return Culprit(file=operation.file, lines=(operation.line,))
    return examined.blame.taker(place[0], wanted[0].rpartition(".")[2])
