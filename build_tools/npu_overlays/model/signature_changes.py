"""Signature changes: a function of upstream's before and now → how its parameters and its decorators changed."""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from npu_overlays.errors import listing
from npu_overlays.model.definitions import FunctionNode
from npu_overlays.model.fingerprint import brief, dump
from npu_overlays.model.signatures import Parameter, is_upstreams, parameters
from npu_overlays.model.syntax import all_of, last_name


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
        is_ambiguous: whether the bodies show other parameters in each other's places than the names do.
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

    def _pairs(self) -> Iterator[tuple[Parameter, Parameter]]:
        now = {one.name: one for one in self.after}
        for was, name in zip(self.before, self.names, strict=True):
            if name in now:
                yield was, now[name]

    def __str__(self) -> str:
        said = [f"`{old}` is `{new}` now" for old, new in self.renamed.items()]
        for names, what in ((self.added, "new"), (self.removed, "gone")):
            if names:
                listed = listing(f"`{name}`" for name in names)
                said.append(f"{listed} {'is' if len(names) == 1 else 'are'} {what}")
        for was, now in self._pairs():
            said += _other_default(was, now)
        if self.is_reordered:
            order = ", ".join(one.name for one in self.after)
            said.append(f"its parameters stand as ({order})")
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
    return SignatureChange(
        before=parameters(before.args),
        after=parameters(after.args),
        renamed=renamed,
        decorators=list(decorators),
        has_others=not all(decorators.values()),
        has_other_body=decorated and _body(before, renamed) != _body(after, {}),
        is_ambiguous=_is_ambiguous(before, after, renamed),
    )


def _is_ambiguous(before: FunctionNode, after: FunctionNode, renamed: Mapping[str, str]) -> bool:
    """Return whether the bodies are equal if each parameter stands for the one in its place, and not by their names."""
    places: dict[str, str] = {}
    for (_, old), (_, new) in zip(_names(before), _names(after), strict=False):
        places[old] = new
    is_other = any(renamed.get(old, old) != new for old, new in places.items())
    return is_other and _body(before, places) == _body(after, {}) != _body(before, renamed)


def _renames(before: FunctionNode, after: FunctionNode) -> Iterator[tuple[str, str]]:
    """Yield the parameters that upstream renamed, with their new names.

    The evidence is a decorator that names both, or a body that differs in the names alone.
    """
    pairs: dict[str, str] = {}
    was, now = map(_names, (before, after))
    for tag, start, end, there, behind in difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if tag == "replace":
            for (kind, old), (other, new) in zip(was[start:end], now[there:behind], strict=False):
                if kind == other and (other, old) not in now and (kind, new) not in was:
                    pairs[old] = new
    is_same = bool(pairs) and _body(before, pairs) == _body(after, {})
    for old, new in pairs.items():
        if is_same or any(_announces(one, {old: new}) for one in after.decorator_list):
            yield old, new


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
        yield f"{texts[0] or texts[1]} is {(texts[1] or 'gone') if old else 'new'} now", is_exchange


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
