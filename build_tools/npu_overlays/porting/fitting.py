"""Fitting: operations and the bytes of their files → which of them can be applied as they stand, and why others not.

Every answer is remembered by path and blob: over hundreds of commits a file has few versions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from npu_overlays.contracts.contracts import Contract, ContractDifference, breaking, differences
from npu_overlays.errors import MergeError, OverlayError
from npu_overlays.merging.emptying import each_deletion
from npu_overlays.merging.merge import splices_of
from npu_overlays.merging.sites import Companions, Site
from npu_overlays.merging.targets import find
from npu_overlays.model import model_of_module
from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.module import Module
from npu_overlays.model.parts import definitions, owners, parts
from npu_overlays.overlay.operations import EVERYTHING, Operation
from npu_overlays.porting.revision import Revision

_KEPT = 24


class Modules:
    """Upstream's modules, parsed; the latest are kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], Module | None] = OrderedDict()

    def get(self, revision: Revision, path: str) -> Module | None:
        """Return a module of a revision, or None where there is no such file or it is not Python that can be read."""
        key = (path, revision.blob(path))
        if not key[1]:
            return None
        if key not in self._kept:
            self._kept[key] = _parsed(path, revision.read(path))
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


@lru_cache(maxsize=_KEPT)
def _classes(module: Module) -> ClassGraph:
    """Return the classes of a module by itself: what is remembered by blob must hold whatever stands beside it."""
    return model_of_module(module.path, module.content).classes


def _parsed(path: str, content: bytes) -> Module | None:
    try:
        return Module(path, content)
    except MergeError:
        return None


@dataclass(frozen=True, kw_only=True)
class Fit:
    """How an operation fits one version of its file.

    Args:
        problem: why it cannot be applied; empty where it can be.
        breaking: what it cannot do without and is another now.
        changed: what else of what it depends on is another now.
    """

    problem: str = ""
    breaking: tuple[ContractDifference, ...] = ()
    changed: tuple[ContractDifference, ...] = ()

    @property
    def applies(self) -> bool:
        """Whether it can be applied, and what it cannot do without is as it was."""
        return not self.problem and not self.breaking


class Fitting:
    """Tries the operations of an overlay on versions of their files.

    Args:
        operations: all of them, one for each symbol.
        locked: what they depended on where they were locked.
        distribution: name of the distribution built.
        modules: parses.
    """

    def __init__(
        self, operations: Iterable[Operation], locked: Iterable[Contract], distribution: str, modules: Modules
    ) -> None:
        self._by_path: dict[str, list[Operation]] = {}
        for operation in operations:
            self._by_path.setdefault(operation.path, []).append(operation)
        self._locked = {(one.path, one.symbol): one for one in locked if not one.patch}
        self._distribution = distribution
        self._modules = modules
        self._known: dict[tuple[str, str], Mapping[str, Fit]] = {}

    def fits(self, path: str, now: Revision) -> Mapping[str, Fit]:
        """Return, by symbol, how the operations on a file fit the one that a revision has."""
        key = (path, now.blob(path))
        if key not in self._known:
            self._known[key] = self._tried(path, now)
        return self._known[key]

    def locked(self, operation: Operation) -> Contract | None:
        """Return what an operation depended on where it was locked."""
        return self._locked.get((operation.path, operation.symbol))

    def changed(self, operation: Operation, now: Revision) -> bool:
        """Return whether anything an operation depends on is another in a revision; it need not apply there."""
        module, locked = self._modules.get(now, operation.path), self.locked(operation)
        if module is None or locked is None:
            return True
        try:
            return bool(differences(locked, _now(locked, operation, module)))
        except MergeError:
            return True

    def tried(self, operation: Operation, module: Module, companions: Companions | None = None) -> str:
        """Return why an operation cannot be applied to a module, or an empty text where it can be."""
        together = companions or Companions([operation])
        try:
            each = list(each_deletion(operation, module)) if operation.symbol == EVERYTHING else [operation]
            for one in each:
                splices_of(self._site(module, one, Companions(each) if len(each) > 1 else together))
        except OverlayError as error:
            return "; ".join(dict.fromkeys(problem.what for problem in error.problems))
        return ""

    def _site(self, module: Module, operation: Operation, companions: Companions) -> Site:
        return Site(
            module=module,
            operation=operation,
            companions=companions,
            distribution=self._distribution,
            classes=_classes(module),
        )

    def _tried(self, path: str, now: Revision) -> Mapping[str, Fit]:
        operations = self._by_path.get(path, [])
        module = self._modules.get(now, path)
        if module is None:
            return {one.symbol: Fit(problem=f"{path} is not Python that can be read") for one in operations}
        companions = Companions(operations)
        return {one.symbol: self._fit(one, module, companions) for one in operations}

    def _fit(self, operation: Operation, module: Module, companions: Companions) -> Fit:
        problem = self.tried(operation, module, companions)
        locked = self.locked(operation)
        if operation.symbol == EVERYTHING or locked is None:
            return Fit(problem=problem)
        try:
            now = _now(locked, operation, module)
        except MergeError as error:
            return Fit(problem=problem or error.problems[0].what)
        hard = breaking(locked, now)
        return Fit(
            problem=problem,
            breaking=tuple(hard),
            changed=tuple(one for one in differences(locked, now) if one not in hard),
        )


def _now(locked: Contract, operation: Operation, module: Module) -> Contract:
    """Return what an operation depends on now, but for what asks the whole module and breaks nothing."""
    if operation.action == "added":
        return replace(locked, owner=owners(module, operation.symbol))
    bare = Contract(path=operation.path, symbol=operation.symbol, operation=operation.action)
    found = {**parts(find(module, operation)), "definitions": definitions(module, operation.name)}
    known = {name: getattr(locked, name) for name in ("watched", "hidden", "unlike")}
    return replace(bare, owner=owners(module, operation.symbol), **known, **found)
