"""Form targets: operations that name a model, and upstream → the definitions of that form, for the lock to list."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

from npu_overlays.errors import MergeError, Problem, listing, nearest, suggestion
from npu_overlays.merge.steps import nearest_file
from npu_overlays.merge.targets import find
from npu_overlays.model import Model, Symbol, model_of
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.forms import Forms
from npu_overlays.model.module import Module
from npu_overlays.overlay.content import Content, load_content, models_of, names_dropped
from npu_overlays.overlay.operations import NO_FORMS, FormTargets, Like, Operation
from npu_overlays.overlay.project import Overlay
from npu_overlays.sources.tree import SourceTree
from npu_summary.plurals import plural

# Definitions that a notice names: the lock lists all of them.
_SHOWN = 3


def form_targets(
    operations: Iterable[Operation],
    tree: SourceTree,
    model: Model,
    earlier: FormTargets = NO_FORMS,
    dropped: Collection[str] = (),
) -> FormTargets:
    """Return the targets of operations that name a model: the model first, then the others in the order of their paths.

    Args:
        operations: those of an overlay that name one.
        tree: upstream.
        model: of that tree.
        earlier: of a lock for the same pin; its targets in files that the tree is known to lack are kept.
        dropped: what the pin drops; a model among these may be gone, and then no other definition is searched.

    Raises:
        MergeError: with every model that upstream lacks, glob without a file, and exception that is no target.
    """
    found: dict[Like, tuple[str, ...]] = {}
    problems: list[Problem] = []
    for operation in operations:
        like = operation.like
        if like is None or like in found:
            continue
        gone = list(_model_problems(operation, like, tree, model))
        if gone and like.model in dropped:
            found[like] = tuple(sorted(name for name in dropped if like.may_have(name)))
            continue
        wrong = [*gone, *_within_problems(operation, like, model)]
        if not wrong:
            kept = (name for name in earlier.get(like, ()) if name.partition(":")[0] in model.absent)
            found[like] = _targets(like, model, kept)
            wrong = [*_but_problems(operation, like, found[like])]
        problems += wrong
    MergeError.raise_for(problems)
    return found


def found_content(overlay: Overlay, version: str, tree: SourceTree) -> Content:
    """Return the content of a pin that has no lock yet, with the targets that its upstream has; raises `OverlayError`.

    Args:
        overlay: the pin.
        version: upstream's; empty if it is not known yet.
        tree: upstream.
    """
    return load_content(overlay, version, found_forms(overlay, version, tree))


def found_forms(overlay: Overlay, version: str, tree: SourceTree) -> FormTargets:
    """Return the targets of a pin's operations that name a model, as its upstream has them; raises `OverlayError`."""
    dropped = names_dropped(overlay, version)
    return form_targets(models_of(overlay, version), tree, model_of(overlay.pin, tree), dropped=dropped)


def _targets(like: Like, model: Model, kept: Iterable[str]) -> tuple[str, ...]:
    first = _symbol(like.model)
    others = {f"{one.path}:{one.name}" for one in model.forms.alike(first, _files(like, model), like.reads)}
    return like.model, *sorted({*others, *kept} - {like.model})


def _symbol(target: str) -> Symbol:
    path, _, name = target.partition(":")
    return Symbol(path, name)


def _files(like: Like, model: Model) -> list[str]:
    """Return the shipped modules to search for definitions of a form."""
    return sorted(path for path in model.modules.names if fnmatchcase(path, like.within))


def _model_problems(operation: Operation, like: Like, tree: SourceTree, model: Model) -> Iterator[Problem]:
    """Yield why a model has no form; models in files that the tree is known to lack are not examined."""
    path, name = _symbol(like.model)
    if path not in tree:
        yield Problem(where=operation.where, what=f"upstream has no {path}", fix=nearest_file(tree.entries, path))
        return
    if not model.modules.name(path):
        yield Problem(where=operation.where, what=f"{path} is not shipped", fix="name a model in a file that is")
        return
    try:
        definition = find(Module(path, tree.read(path)), replace(operation, path=path, symbol=name, shared=""))
    except MergeError as error:
        yield from error.problems
        return
    if not isinstance(definition.node, (*FUNCTIONS, ast.ClassDef)):
        what = f"`{name}` of {path} is no function and no class"
        yield Problem(where=operation.where, what=what, fix="name the targets: targets=[…]")


def _within_problems(operation: Operation, like: Like, model: Model) -> Iterator[Problem]:
    if not _files(like, model):
        what = f"no shipped module is called as `within` says: {like.within}"
        yield Problem(where=operation.where, what=what, fix=nearest_file(model.modules.names, like.within))


def _but_problems(operation: Operation, like: Like, found: tuple[str, ...]) -> Iterator[Problem]:
    for name in like.but:
        if name not in found:
            close = nearest(name, found, 0.4)
            what = f"`but` names `{name}`, which is not of the form of `{like.model}`"
            yield Problem(where=operation.where, what=what, fix=suggestion(close, "take it out of `but`"))


def form_notices(before: FormTargets, now: FormTargets, model: Model) -> Iterator[str]:
    """Yield for each model the definitions of its form that are new or gone since an earlier lock, and why they went.

    Args:
        before: what the earlier lock lists.
        now: what upstream has.
        model: of upstream.
    """
    earlier = {(like.model, like.within): names for like, names in before.items()}
    for like, names in now.items():
        known = earlier.get((like.model, like.within), ())
        came = sorted({*names} - {*known})
        went = [_lost(name, like, model.forms) for name in sorted({*known} - {*names})]
        if not known:
            yield f"{_have(len(names), 'definition')} the form of `{like.model}`"
        elif came or went:
            yield "; ".join(_changed_targets(like, came, went))


def _changed_targets(like: Like, came: list[str], went: list[str]) -> Iterator[str]:
    """Yield which definitions are new to a form, and which no longer have it."""
    form = f"the form of `{like.model}`"
    if came:
        yield f"{_have(len(came), 'more definition')} {form}: {listing(came, _SHOWN)}"
    if went:
        subject = str(len(went)) if came else plural(len(went), "definition")
        verb = "has" if len(went) == 1 else "have"
        yield f"{subject} no longer {verb} {'it' if came else form}: {listing(went, _SHOWN)}"


def _have(number: int, noun: str) -> str:
    return f"{plural(number, noun)} {'has' if number == 1 else 'have'}"


def _lost(name: str, like: Like, forms: Forms) -> str:
    """Return a definition that no longer has a form, and how it differs."""
    differs = forms.difference(_symbol(like.model), _symbol(name), like.reads)
    return f"{name} ({differs})" if differs else name
