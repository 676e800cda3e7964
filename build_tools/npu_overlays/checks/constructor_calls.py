"""Constructor calls: patched tree → classes that no longer accept the arguments that shipped modules make them with.

A class does so if a constructor is added, removed or gets other parameters, by any operation or patch.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from npu_overlays.checks.attribution import ProblemReport
from npu_overlays.checks.context import CheckContext
from npu_overlays.checks.member_access import nodes_mentioning, unsure_nodes
from npu_overlays.checks.references import any_word
from npu_overlays.errors import listing
from npu_overlays.model import Symbol, Target
from npu_overlays.model.class_graph import ClassGraph, class_around
from npu_overlays.model.constructors import constructor, super_constructor
from npu_overlays.model.definitions import FUNCTIONS, FunctionNode
from npu_overlays.model.dynamic_members import may_have_dynamic_member
from npu_overlays.model.local_names import is_local
from npu_overlays.model.signatures import Parameter, call_mismatch, parameters, replacement_mismatch, signature_text
from npu_overlays.model.syntax import is_name

_INIT = "__init__"
_KEEP = "accept the arguments that they give, or change those places too"


@dataclass(frozen=True, kw_only=True)
class _ConstructorChange:
    """A constructor that is called instead of another one."""

    now: FunctionNode
    before: FunctionNode | None  # None where it is not known

    def refuses(self, call: ast.Call, *, bound: bool) -> bool:
        """Return whether a call fails that did not, given whether Python passes the object itself."""
        failed = self.before is not None and call_mismatch(call, _required(self.before, bound=bound))
        return not failed and bool(call_mismatch(call, _required(self.now, bound=bound)))


@dataclass(frozen=True, kw_only=True)
class _ConstructorChanges:
    """The effect of a class's change on it and its subclasses."""

    made: Mapping[Symbol, _ConstructorChange]  # by class, what makes its objects
    behind: Mapping[Symbol, _ConstructorChange]  # by class, what ``super().__init__`` in it calls


def report_refused_calls(context: CheckContext, report: ProblemReport) -> None:
    """Report classes whose constructor refuses calls of the shipped modules that upstream's accepts."""
    before, after = context.before.classes, context.after.classes
    for symbol in context.changed_classes():
        if before.node(symbol) is None or _stated(before, symbol) == _stated(after, symbol):
            continue
        if places := list(_refused(after, _constructor_changes(before, after, symbol))):
            what = f"`{symbol.name}` of {symbol.path} can no longer be called as in {listing(places)}"
            report.add(context.attribution.changer(symbol, [_INIT]), what, _KEEP)


def _stated(graph: ClassGraph, symbol: Symbol) -> tuple[list[str], tuple[Target, ...]]:
    """Return the parameters of a class's own constructor, and its bases."""
    known = [one.node for one in graph.definitions(symbol.member(_INIT))]
    shown = [signature_text(one.args) if isinstance(one, FUNCTIONS) else ast.unparse(one) for one in known]
    return shown, graph.bases(symbol).stated


def _constructor_changes(before: ClassGraph, after: ClassGraph, symbol: Symbol) -> _ConstructorChanges:
    every = [
        one for one in (symbol, *after.heirs(symbol)) if not may_have_dynamic_member(after, one, _INIT, bound=True)
    ]
    return _ConstructorChanges(
        made=_narrowed(before, after, every, constructor), behind=_narrowed(before, after, every, super_constructor)
    )


def _narrowed(
    before: ClassGraph,
    after: ClassGraph,
    classes: Iterable[Symbol],
    lookup: Callable[[ClassGraph, Symbol], FunctionNode | frozenset[str] | None],
) -> dict[Symbol, _ConstructorChange]:
    """Return the classes whose constructor accepts fewer calls than upstream's."""
    found: dict[Symbol, _ConstructorChange] = {}
    for symbol in classes:
        old, now = lookup(before, symbol), lookup(after, symbol)
        known = old if isinstance(old, FUNCTIONS) else None
        if isinstance(now, FUNCTIONS) and (known is None or replacement_mismatch(now.args, known.args)):
            found[symbol] = _ConstructorChange(now=now, before=known)
    return found


def _refused(graph: ClassGraph, changes: _ConstructorChanges) -> Iterator[str]:
    """Yield the calls that fail, as ``path:line (call)``, except if the code expects that they may."""
    names = {one.name.rpartition(".")[2] for one in (*changes.made, *changes.behind)}
    if not names:
        return
    for path, around in nodes_mentioning(graph, any_word(names)):
        unsure = unsure_nodes(around, _INIT)
        calls = [node for node in around if isinstance(node, ast.Call) and node not in unsure]
        found = [one for one in calls if _is_refused(graph, path, one, around[one], changes)]
        found.sort(key=lambda one: (one.lineno, one.col_offset))
        for one in found:
            yield f"{path}:{one.lineno} ({ast.unparse(one).splitlines()[0]})"


def _is_refused(
    graph: ClassGraph, path: str, call: ast.Call, outer: tuple[ast.stmt, ...], changes: _ConstructorChanges
) -> bool:
    called, bound = call.func, True
    if isinstance(called, ast.Attribute) and called.attr == _INIT:
        if isinstance(called.value, ast.Call) and is_name(called.value.func, "super"):
            owner = class_around(path, outer)
            change = changes.behind.get(owner) if owner else None
            return change is not None and change.refuses(call, bound=True)
        called, bound = called.value, False
    root = ast.unparse(called).partition(".")[0]
    if not isinstance(called, (ast.Name, ast.Attribute)) or is_local(root, outer) or _is_rebound(graph, path, root):
        return False
    meant = graph.resolved_class(path, called)
    change = changes.made.get(meant) if meant else None
    return change is not None and change.refuses(call, bound=bound)


def _is_rebound(graph: ClassGraph, path: str, name: str) -> bool:
    """Return whether a module may rebind a class's name."""
    module = graph.module(path)
    return any(one.kind not in ("import", "class") for one in module.definitions.get(name, [])) if module else True


def _required(function: FunctionNode, *, bound: bool) -> list[Parameter]:
    """Return the required parameters."""
    known = parameters(function.args)
    return known[1:] if bound and known and known[0].kind in ("/", "|") else known
