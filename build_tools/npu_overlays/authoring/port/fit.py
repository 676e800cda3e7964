"""Fit: an operation and the bytes of its file → whether it can be applied, and which of its dependencies changed.

Answers are cached by path and blob: over hundreds of commits a file has few versions.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from npu_overlays.authoring.port.renamed_words import names_in
from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.contracts.contracts import Contract, ContractDifference, breaking, differences
from npu_overlays.errors import MergeError, OverlayError
from npu_overlays.merge.module_deletion import each_deletion
from npu_overlays.merge.module_merge import merge, splices_of
from npu_overlays.merge.sites import Companions, Site
from npu_overlays.merge.targets import find
from npu_overlays.model import model_of_module
from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.definition_fields import definition_fields, definition_selectors, enclosing_headers
from npu_overlays.model.module import Module
from npu_overlays.overlay.operations import EVERYTHING, Operation

_KEPT = 24


@dataclass(frozen=True, kw_only=True)
class Fit:
    """How an operation fits one version of its file.

    Args:
        problem: why it cannot be applied; empty if it can be.
        breaking: the changes that break it.
        changed: the changes of what else it depends on.
        unbound: the names in its code that neither its module nor an addition to that binds.
    """

    problem: str = ""
    breaking: tuple[ContractDifference, ...] = ()
    changed: tuple[ContractDifference, ...] = ()
    unbound: frozenset[str] = frozenset()

    @property
    def applies(self) -> bool:
        """Whether it can be applied, and no change breaks it."""
        return not self.problem and not self.breaking


class Fitter:
    """Tries the operations of an overlay on versions of their files.

    Args:
        operations: all of them, one for each symbol.
        locked: their contracts.
        distribution: name of the distribution built.
    """

    def __init__(self, operations: Iterable[Operation], locked: Iterable[Contract], distribution: str) -> None:
        self._by_path: dict[str, list[Operation]] = {}
        for operation in operations:
            self._by_path.setdefault(operation.path, []).append(operation)
        self._locked = {(one.path, one.symbol): one for one in locked if not one.patch}
        self._distribution = distribution
        self._known: dict[tuple[str, str], Mapping[str, Fit]] = {}

    def locked(self, operation: Operation) -> Contract | None:
        """Return the locked contract of an operation; None if it has none."""
        return self._locked.get((operation.path, operation.symbol))

    def fit(self, operation: Operation, now: Snapshot) -> Fit:
        """Return how an operation fits its file in a snapshot; all operations on that file are tried together."""
        path = operation.path
        if path not in now:
            return Fit(problem="upstream has no such file")
        key = (path, now.blob(path))
        if key not in self._known:
            module, together = now.module(path), self._by_path.get(path, [])
            companions, fits = Companions(together), {}
            for one in together:
                unreadable = Fit(problem=f"{path} is not Python that can be read")
                fits[one.symbol] = self._fit(one, module, companions) if module else unreadable
            if module:
                added = {one.symbol for one in together if one.action == "added"}
                for one in together:
                    unbound = _unbound(one, module) - added
                    fits[one.symbol] = replace(fits[one.symbol], unbound=unbound) if unbound else fits[one.symbol]
            self._known[key] = fits
        return self._known[key][operation.symbol]

    def has_changes(self, operation: Operation, now: Snapshot) -> bool:
        """Return whether anything that an operation depends on changed, even if the operation does not apply."""
        module, locked = now.module(operation.path), self.locked(operation)
        if module is None or locked is None:
            return True
        try:
            return bool(differences(locked, _contract(locked, operation, module)))
        except MergeError:
            return True

    def problem(self, operation: Operation, module: Module, companions: Companions | None = None) -> str:
        """Return why an operation cannot be applied to a module; empty if it can be."""
        together = companions or Companions([operation])
        try:
            each = list(each_deletion(operation, module)) if operation.symbol == EVERYTHING else [operation]
            for one in each:
                site = Site(
                    module=module,
                    operation=one,
                    companions=Companions(each) if len(each) > 1 else together,
                    distribution=self._distribution,
                    classes=_classes(module),
                )
                splices_of(site)
        except OverlayError as error:
            return "; ".join(dict.fromkeys(problem.what for problem in error.problems))
        return ""

    def result(self, operation: Operation, module: Module) -> Module:
        """Return a module with an operation applied that can be."""
        merged, *_ = merge(module.path, module.file, [operation], distribution=self._distribution)
        return Module(module.path, merged)

    def _fit(self, operation: Operation, module: Module, companions: Companions) -> Fit:
        problem, locked = self.problem(operation, module, companions), self.locked(operation)
        if operation.symbol == EVERYTHING or locked is None:
            return Fit(problem=problem)
        try:
            now = _contract(locked, operation, module)
        except MergeError as error:
            return Fit(problem=problem or error.problems[0].what)
        hard = tuple(breaking(locked, now))
        soft = tuple(one for one in differences(locked, now) if one not in hard)
        return Fit(problem=problem, breaking=hard, changed=soft)


@lru_cache(maxsize=_KEPT)
def _classes(module: Module) -> ClassGraph:
    """Return the classes of a module without other modules: an answer cached by blob must hold beside any of them."""
    return model_of_module(module.path, module.content).classes


def _contract(locked: Contract, operation: Operation, module: Module) -> Contract:
    """Return an operation's contract with a module, without the parts that need the whole tree and break nothing."""
    if operation.action == "added":
        return replace(locked, owner=enclosing_headers(module, operation.symbol))
    return Contract(
        path=operation.path,
        symbol=operation.symbol,
        operation=operation.action,
        owner=enclosing_headers(module, operation.symbol),
        watched=locked.watched,
        hidden=locked.hidden,
        unlike=locked.unlike,
        **{**definition_fields(find(module, operation)), "definitions": definition_selectors(module, operation.name)},
    )


def _unbound(operation: Operation, module: Module) -> frozenset[str]:
    """Return the globals that an operation's code uses, in an edit may use, and that its module does not bind."""
    used = set(_globals_of(operation.text)) if operation.text and operation.kind != "attribute" else set()
    for edit in operation.edits:
        used |= names_in(edit.replace, "global") - names_in(edit.find, "global")
    own = {one.name for one in operation.imports} | {operation.upstream_name}
    unknown = [name for name in used - own if name not in module.definitions and not hasattr(builtins, name)]
    if not unknown or module.outer_scopes.stars:
        return frozenset()
    return frozenset(unknown) - module.parsed.surface.bound


@lru_cache(maxsize=_KEPT)
def _globals_of(text: str) -> frozenset[str]:
    return frozenset(Module("", text.encode()).scopes.global_loads)
