"""Successors: a definition that is gone → the one in another place that is most like it.

Only what was not there where the overlay was locked can be what something became. The parameters must be the same,
and the code alike; of two that are equally alike none is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from npu_overlays.merging.upstream.parts import parts
from npu_overlays.overlay.operations import Operation
from npu_overlays.porting.fitting import Fitting, Modules
from npu_overlays.porting.likeness import ENOUGH, Shape, likeness, shape
from npu_overlays.porting.revision import Revision
from npu_overlays.syntax.definitions import Definition
from npu_overlays.syntax.logical import Layout
from npu_overlays.syntax.symbols import Module

# An assignment of less, of `None` or a number, says nothing about which other one it became.
_TELLING = 8
# A name that so many files define says nothing about where a method went.
_COMMON = 12
_SHAPED = ("kind", "signature")


@dataclass(frozen=True, kw_only=True)
class Successor:
    """Where a definition stands now.

    Args:
        path: of its file.
        symbol: its qualified name.
        likeness: to the definition as it was.
        problem: why the operation cannot be applied there; empty where it can be.
        searched: whether it was found by what an edit looks for, not by its own likeness.
    """

    path: str
    symbol: str
    likeness: float
    problem: str = ""
    searched: bool = False

    @property
    def place(self) -> str:
        """``path:symbol``."""
        return f"{self.path}:{self.symbol}"


class Successors:
    """Looks for what definitions became.

    Args:
        base: upstream where the overlay was locked.
        modules: parses.
        fitting: tries operations in their new place.
    """

    def __init__(self, base: Revision, modules: Modules, fitting: Fitting) -> None:
        self._base = base
        self._modules = modules
        self._fitting = fitting
        self._shapes: dict[tuple[str, str, str], Shape] = {}
        self._before: dict[tuple[str, str], tuple[dict[str, str], Shape] | None] = {}

    def find(self, operation: Operation, now: Revision) -> Successor | None:
        """Return where the definition an operation is on stands in a revision that lacks it; None where nowhere."""
        before = self._as_it_was(operation)
        if before is None or (before[0]["kind"] == "attribute" and before[1].total() < _TELLING):
            return None
        found = sorted(self._alike(operation, before, now), key=lambda one: -one.likeness)
        if not found or (len(found) > 1 and found[0].likeness == found[1].likeness):
            return None
        return self._judged(operation, found[0], now)

    def of_edit(self, operation: Operation, now: Revision) -> Successor | None:
        """Return the one other definition of the file that holds all an edit looks for, as often as it says."""
        module = self._modules.get(now, operation.path)
        if module is None:
            return None
        names = [
            name for name in module.definitions if name != operation.symbol and self._holds(operation, module, name)
        ]
        # A class holds what its method holds: the innermost is meant.
        inner = [name for name in names if not any(other.startswith(f"{name}.") for other in names)]
        if len(inner) != 1:
            return None
        before = self._as_it_was(operation)
        alike = likeness(before[1], self._shape(module, now, inner[0])) if before else 0.0
        found = Successor(path=operation.path, symbol=inner[0], likeness=alike, searched=True)
        judged = self._judged(operation, found, now)
        return None if judged.problem else judged

    def place_of(self, operation: Operation, now: Revision) -> str:
        """Return the classes of the file that are not there any more around an operation's symbol, outermost."""
        module = self._modules.get(now, operation.path)
        owner = operation.symbol.rpartition(".")[0]
        return owner if module is not None and owner and owner not in module.definitions else ""

    def _judged(self, operation: Operation, found: Successor, now: Revision) -> Successor:
        module = self._modules.get(now, found.path)
        assert module is not None  # noqa: S101  # it was found there
        there = replace(operation, path=found.path, symbol=found.symbol)
        return replace(found, problem=self._fitting.tried(there, module))

    def _as_it_was(self, operation: Operation) -> tuple[dict[str, str], Shape] | None:
        key = (operation.path, operation.symbol)
        if key not in self._before:
            module = self._modules.get(self._base, operation.path)
            known = module.definitions.get(operation.symbol, []) if module is not None else []
            one = known[0] if module is not None and len(known) == 1 else None
            self._before[key] = (parts(one), shape(module, one)) if module is not None and one else None
        return self._before[key]

    def _alike(self, operation: Operation, before: tuple[dict[str, str], Shape], now: Revision) -> Iterator[Successor]:
        for path, module in self._where(operation, now):
            known = self._names_before(path)
            for name, definitions in module.definitions.items():
                if name in known or len(definitions) != 1 or not _may_be(operation, path, name):
                    continue
                if not _same_form(before[0], definitions[0]):
                    continue
                alike = likeness(before[1], self._shape(module, now, name))
                if alike >= ENOUGH:
                    yield Successor(path=path, symbol=name, likeness=alike)

    def _where(self, operation: Operation, now: Revision) -> Iterator[tuple[str, Module]]:
        """Yield the modules something may have gone to: its own, and those that define something so called."""
        leaf = operation.symbol.rpartition(".")[2]
        paths = now.defining(leaf)
        if len(paths) > _COMMON:
            owner = operation.symbol.partition(".")[0]
            paths = [path for path in paths if owner != leaf and path in now.defining(owner)]
        # A recipe's copy of a library's class is not what became of it.
        top = f"{operation.path.partition('/')[0]}/"
        for path in dict.fromkeys([operation.path, *(path for path in paths if path.startswith(top))]):
            module = self._modules.get(now, path) if len(paths) <= _COMMON or path == operation.path else None
            if module is not None:
                yield path, module

    def _names_before(self, path: str) -> frozenset[str]:
        module = self._modules.get(self._base, path)
        return frozenset(module.definitions) if module is not None else frozenset()

    def _shape(self, module: Module, now: Revision, name: str) -> Shape:
        key = (module.path, now.blob(module.path), name)
        if key not in self._shapes:
            self._shapes[key] = shape(module, module.definitions[name][0])
        return self._shapes[key]

    def _holds(self, operation: Operation, module: Module, name: str) -> bool:
        known = module.definitions[name]
        if len(known) != 1 or known[0].kind == "import":
            return False
        layout = Layout(module.whole_text(known[0].node).decode())
        return all(len(layout.occurrences(Layout(edit.find))) == edit.count for edit in operation.edits)


def _may_be(operation: Operation, path: str, name: str) -> bool:
    """Return whether something may have become another: in its own file under any name, elsewhere under its own."""
    leaf, was = name.rpartition(".")[2], operation.symbol.rpartition(".")[2]
    same_depth = name.count(".") == operation.symbol.count(".")
    return leaf == was or (path == operation.path and same_depth)


def _same_form(before: dict[str, str], definition: Definition) -> bool:
    after = parts(definition)
    return all(before.get(part) == after.get(part) for part in _SHAPED)
