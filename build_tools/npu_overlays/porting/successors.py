"""Successors: a definition that is gone → the one in another place that is most like it.

By its own likeness (see `candidates`), or because all that an edit looks for stands in one other definition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from npu_overlays.contracts.contracts import Contract, breaking
from npu_overlays.model.definitions import Definition
from npu_overlays.model.likeness import ENOUGH
from npu_overlays.model.logical_lines import layout_of
from npu_overlays.model.module import Module
from npu_overlays.model.parts import parts
from npu_overlays.model.selectors import chosen, leaf_of, symbols
from npu_overlays.model.texts import renamed
from npu_overlays.overlay.operations import Operation
from npu_overlays.porting.candidates import Candidates
from npu_overlays.porting.fitting import Fitting, Modules
from npu_overlays.porting.revision import Revision


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
        self._candidates = Candidates(base, modules)

    def find(self, operation: Operation, now: Revision) -> Successor | None:
        """Return where the definition an operation is on stands in a revision that lacks it; None where nowhere."""
        best = self._candidates.best(operation.path, operation.symbol, now)
        if best is None:
            return None
        found = Successor(path=best.path, symbol=best.symbol, likeness=best.likeness)
        return self._judged(operation, found, now)

    def of_member(self, operation: Operation, now: Revision) -> Successor | None:
        """Return where what is added to a class belongs, now that the class stands elsewhere; None where nowhere."""
        owner = operation.owner
        best = self._candidates.best(operation.path, owner, now) if owner else None
        module = self._modules.get(now, best.path) if best else None
        if best is None or module is None:
            return None
        there = replace(operation, path=best.path, symbol=operation.symbol.replace(owner, best.symbol, 1))
        problem = self._fitting.tried(there, module)
        return Successor(path=best.path, symbol=there.symbol, likeness=best.likeness, problem=problem)

    def of_file(self, operation: Operation, path: str, now: Revision) -> Successor | None:
        """Return what an operation is on in another file, under its own name and like it; None where it is not."""
        module = self._modules.get(now, path)
        alike = self._candidates.likeness(operation.path, operation.symbol, now, operation.symbol, there=path)
        if module is None or len(chosen(module, operation.symbol)) != 1 or alike < ENOUGH:
            return None
        return self._judged(operation, Successor(path=path, symbol=operation.symbol, likeness=alike), now)

    def of_edit(self, operation: Operation, now: Revision) -> Successor | None:
        """Return the one other definition of the file that holds all an edit looks for, as often as it says."""
        module = self._modules.get(now, operation.path)
        if module is None:
            return None
        names = [name for name in symbols(module) if name != operation.symbol and self._holds(operation, module, name)]
        # A class holds what its method holds: the innermost is meant. What held it before, too, is not where it went.
        inner = [name for name in names if not any(other.startswith(f"{name}.") for other in names)]
        before = self._modules.get(self._base, operation.path)
        if len(inner) != 1 or self._holds(operation, before, inner[0]):
            return None
        alike = self._candidates.likeness(operation.path, operation.symbol, now, inner[0])
        found = Successor(path=operation.path, symbol=inner[0], likeness=alike, searched=True)
        judged = self._judged(operation, found, now)
        return None if judged.problem else judged

    def _judged(self, operation: Operation, found: Successor, now: Revision) -> Successor:
        module = self._modules.get(now, found.path)
        assert module is not None  # noqa: S101  # it was found there
        is_definition = operation.text and operation.kind != "attribute"
        text = renamed(operation.text, leaf_of(found.symbol)) if is_definition else operation.text
        there = replace(operation, path=found.path, symbol=found.symbol, text=text)
        problem = self._fitting.tried(there, module) or self._unlike(operation, chosen(module, found.symbol)[0])
        return replace(found, problem=problem)

    def _unlike(self, operation: Operation, there: Definition) -> str:
        """Return what an operation cannot do without and is another in its new place, or an empty text."""
        before = self._modules.get(self._base, operation.path)
        known = chosen(before, operation.symbol) if before is not None else []
        bare = Contract(path=operation.path, operation=operation.action)
        was, now = (replace(bare, **parts(one)) for one in (known[0] if known else there, there))
        # What decorates a function by its own name, as `@value.setter`, follows that.
        own = was.decorators.replace(f"@{operation.leaf}.", f"@{leaf_of(there.name)}.")
        was = replace(was, decorators=own)
        listed = ", ".join(map(str, breaking(was, now)))
        return f"its {listed} changed" if listed else ""

    def _holds(self, operation: Operation, module: Module | None, name: str) -> bool:
        known = chosen(module, name) if module is not None else []
        if module is None or len(known) != 1 or known[0].kind == "import":
            return False
        layout = layout_of(module.whole_text(known[0].node).decode())
        return all(len(layout.occurrences(layout_of(edit.find))) == edit.count for edit in operation.edits)
