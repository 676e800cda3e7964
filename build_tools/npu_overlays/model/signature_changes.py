"""Signature changes: a function of upstream's before and now → how its parameters and its decorators changed."""

from __future__ import annotations

import ast
import copy
import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from npu_overlays.errors import listing
from npu_overlays.model.definitions import FunctionNode
from npu_overlays.model.fingerprint import brief, dump
from npu_overlays.model.local_names import FunctionNames
from npu_overlays.model.signatures import Parameter, is_upstreams, parameter_list, parameters
from npu_overlays.model.syntax import all_of, children, last_name, nodes_of


@dataclass(frozen=True, kw_only=True)
class SignatureChange:
    """How a function changed around its body.

    Args:
        before: its parameters.
        after: its parameters now.
        renamed: the renamed parameters, with their new names.
        decorators: the changed decorators, in words.
        has_others: whether these may matter: a decorator is gone, or new, without a counterpart.
        has_other_body: whether the body changed, too, but for these names; unknown without upstream's decorators.
        is_ambiguous: whether a parameter may stand for another one than that of its name.
    """

    before: Sequence[Parameter]
    after: Sequence[Parameter]
    renamed: Mapping[str, str]
    decorators: Sequence[str] = ()
    has_others: bool = False
    has_other_body: bool = False
    is_ambiguous: bool = False

    @property
    def names(self) -> list[str]:
        """The old parameters, by their new names."""
        return [self.renamed.get(one.name, one.name) for one in self.before]

    @property
    def added(self) -> list[str]:
        """The parameters that are new."""
        return [one.name for one in self.after if one.name not in self.names]

    @property
    def removed(self) -> list[str]:
        """The parameters that are gone."""
        known = {one.name for one in self.after}
        return [one.name for one in self.before if self.renamed.get(one.name, one.name) not in known]

    @property
    def optional(self) -> list[str]:
        """The parameters that were required and are optional now."""
        return [was.name for was, now in self._pairs() if was.is_required and not now.is_required]

    @property
    def is_reordered(self) -> bool:
        """Whether remaining parameters changed their order or kind."""
        kept = [(one.kind, one.name) for one in self.after if one.name in self.names]
        return kept != [(was.kind, now.name) for was, now in self._pairs()]

    @property
    def moves_arguments(self) -> bool:
        """Whether calls must pass other arguments, or in other places."""
        return bool(self.added or self.removed or self.is_reordered)

    @property
    def moves_names(self) -> bool:
        """Whether remaining names stand in another order, or new ones replace some that are gone, in other places."""
        now = [one.name for one in self.after]
        kept = [name for name in self.names if name in now]
        is_exchange = bool(self.added and self.removed) and any(self.names.index(one) != now.index(one) for one in kept)
        return is_exchange or kept != [name for name in now if name in kept]

    def _pairs(self) -> Iterator[tuple[Parameter, Parameter]]:
        now = {one.name: one for one in self.after}
        for was, name in zip(self.before, self.names, strict=True):
            if name in now:
                yield was, now[name]

    def __str__(self) -> str:
        said = [f"`{old}` is `{new}` now" for old, new in self.renamed.items()]
        for names, some, what in ((self.added, self.after, "new"), (self.removed, self.before, "gone")):
            if names:
                listed = listing(f"`{one.shown}`" for one in some if one.name in names)
                said.append(f"{listed} {'is' if len(names) == 1 else 'are'} {what}")
        for was, now in self._pairs():
            said += _other_default(was, now)
        if self.is_reordered:
            said.append(f"its parameters stand as {parameter_list(self.after, lambda one: one.shown)}")
        return "; ".join([*said, *self.decorators])


def _other_default(was: Parameter, now: Parameter) -> Iterator[str]:
    if was.is_required != now.is_required:
        yield f"`{now.name}` has {'no default any more' if now.is_required else 'a default now'}"
    elif was.default and now.default and not is_upstreams(was.default) and dump(was.default) != dump(now.default):
        yield f"`{now.name}` is {brief(now.default)} by default now, not {brief(was.default)}"


def signature_change(before: FunctionNode, after: FunctionNode, now: ast.Module, *, decorated: bool) -> SignatureChange:
    """Return how a function changed around its body.

    Args:
        before: the function as an operation was written for it.
        after: the function in upstream's module now.
        now: that module.
        decorated: whether the first one has upstream's decorators.
    """
    renamed = dict(_renames(before, after))
    decorators = dict(_decorators(before, after, renamed, now)) if decorated else {}
    change = SignatureChange(
        before=parameters(before.args),
        after=parameters(after.args),
        renamed=renamed,
        decorators=list(decorators),
        has_others=not all(decorators.values()),
    )
    if _body(before, renamed) == _body(after, {}):
        return change
    is_ambiguous = change.moves_names or (decorated and _have_other_uses(before, after, change.names))
    return replace(change, has_other_body=decorated, is_ambiguous=is_ambiguous)


def _have_other_uses(before: FunctionNode, after: FunctionNode, names: Sequence[str]) -> bool:
    """Return whether a body uses a parameter more often as it used another one than as it used the one of its name.

    Args:
        before: the first function.
        after: the second one.
        names: the second one's names for the parameters of the first.
    """
    own, theirs = dict(zip(names, _uses(before).values(), strict=True)), _uses(after)
    for old, used in own.items():
        for new, used_now in theirs.items():
            count = (used & used_now).total()
            same = [(own[one] & theirs[one]).total() for one in (old, new) if one in own and one in theirs]
            if old != new and same and count > min(same):
                return True
    return False


def _uses(node: FunctionNode) -> dict[str, Counter[str]]:
    """Return for each parameter the syntax around each of its uses, in which other parameters have no name."""
    found = {name: Counter[str]() for _, name in _names(node)}
    uses: list[tuple[str, ast.Name, ast.AST]] = []
    for parent in nodes_of(ast.Module(body=copy.deepcopy(node.body), type_ignores=[])):
        for child in children(parent):
            if isinstance(child, ast.Name) and child.id in found:
                uses.append((child.id, child, parent))
    for _, child, _ in uses:
        child.id = ""
    for name, child, parent in uses:
        child.id = "it"
        found[name][type(parent).__name__ if hasattr(parent, "body") else dump(parent)] += 1
        child.id = ""
    return found


def _renames(before: FunctionNode, after: FunctionNode) -> Iterator[tuple[str, str]]:
    """Yield the parameters that upstream renamed, with their new names.

    The evidence is a decorator that names both, or a body that differs in the names alone and names nothing else so.
    """
    pairs: dict[str, str] = {}
    was, now = map(_names, (before, after))
    for tag, start, end, there, behind in difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if tag == "replace":
            for (kind, old), (other, new) in zip(was[start:end], now[there:behind], strict=False):
                if kind == other and (other, old) not in now and (kind, new) not in was:
                    pairs[old] = new
    is_same = bool(pairs) and _body(before, pairs) == _body(after, {}) and _are_only_parameters(before, after, pairs)
    for old, new in pairs.items():
        if is_same or any(_announces(one, {old: new}) for one in after.decorator_list):
            yield old, new


def _are_only_parameters(before: FunctionNode, after: FunctionNode, pairs: Mapping[str, str]) -> bool:
    """Return whether neither function has another use for the names of renamed parameters."""
    was, now = FunctionNames(before), FunctionNames(after)
    is_free = was.all.isdisjoint(pairs.values())
    return is_free and all(was.is_only_parameter(old) and now.is_only_parameter(new) for old, new in pairs.items())


def _names(node: FunctionNode) -> list[tuple[str, str]]:
    return [(one.kind, one.name) for one in parameters(node.args)]


def _body(node: FunctionNode, names: Mapping[str, str]) -> str:
    """Return a function's body as syntax without its docstring, with names replaced."""
    block = ast.Module(body=copy.deepcopy(node.body), type_ignores=[])
    for one in all_of(block, ast.Name):
        one.id = names.get(one.id, one.id)
    return dump(block, docstrings=False)


def _announces(decorator: ast.expr, renamed: Mapping[str, str]) -> bool:
    """Return whether a decorator's arguments contain both names of a parameter."""
    texts = {one.value for one in all_of(decorator, ast.Constant)}
    return isinstance(decorator, ast.Call) and any({old, new} <= texts for old, new in renamed.items())


def _decorators(
    before: FunctionNode, after: FunctionNode, renamed: Mapping[str, str], now: ast.Module
) -> Iterator[tuple[str, bool]]:
    """Yield in words how decorators changed, each with whether it is an exchange.

    It is one if the arguments are the same and upstream's module no longer names the old decorator. Decorators that
    announce a renaming are left out.
    """
    was, is_now = before.decorator_list, after.decorator_list
    matcher = difflib.SequenceMatcher(None, list(map(dump, was)), list(map(dump, is_now)), autojunk=False)
    for tag, start, end, there, behind in matcher.get_opcodes():
        old = was[start:end]
        new = [one for one in is_now[there:behind] if not _announces(one, renamed)]
        if tag == "equal" or not (old or new):
            continue
        texts = list(map(_said, (old, new)))
        is_exchange = len(old) == len(new) and all(map(_is_exchanged, old, new)) and not _is_named(now, old)
        are_many = len(old or new) > 1
        said, are = f"upstream's decorator{'s' * are_many}", "are" if are_many else "is"
        if old and new:
            yield f"{said} {texts[0]} {are} {texts[1]} now", is_exchange
        else:
            yield f"{said} {texts[0] or texts[1]} {are} {'gone' if old else 'new'}", is_exchange


def _said(decorators: Sequence[ast.expr]) -> str:
    return " ".join(f"`@{brief(one)}`" for one in decorators)


def _is_exchanged(old: ast.expr, new: ast.expr) -> bool:
    if not isinstance(old, ast.Call) or not isinstance(new, ast.Call):
        return False
    return dump(ast.Call(old.func, new.args, new.keywords)) == dump(old)


def _is_named(module: ast.Module, decorators: Sequence[ast.expr]) -> bool:
    """Return whether a module still uses one of some decorators."""
    gone = {last_name(one.func) for one in decorators if isinstance(one, ast.Call)}
    return any(last_name(one) in gone for one in all_of(module, (ast.Name, ast.Attribute)))
