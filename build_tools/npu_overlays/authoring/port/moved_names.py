"""Moved names: operations that are to move to another file → those whose code names something else there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from npu_overlays.authoring.port.parts import PortedPart
from npu_overlays.contracts.overlay_code import reader_of
from npu_overlays.contracts.reads import Read
from npu_overlays.contracts.symbol_descriptions import described
from npu_overlays.model.symbol_lookup import ResolvedSymbol, SymbolLookup
from npu_overlays.overlay.operations import Operation


@dataclass(frozen=True, kw_only=True)
class MovedNames:
    """The names that operations read from their modules, before and now.

    Args:
        reads: of the lock.
        before: upstream where the overlay was locked.
        now: upstream at the new pin.
    """

    reads: Iterable[Read]
    before: SymbolLookup
    now: SymbolLookup

    def checked(self, found: Iterable[PortedPart]) -> Iterator[PortedPart]:
        """Yield parts without the proposals to move them to a file where a name of theirs means something else."""
        for part in found:
            verdict, operation = part.verdict, part.statement
            wanted = verdict.wanted if verdict.proposal == "retarget" else None
            if wanted and isinstance(operation, Operation) and wanted.path != operation.path:
                others = [name for name in self._names(operation) if not self._is_same(name, operation, wanted)]
                if others:
                    unknown = f"which `{others[0]}` it means: {wanted.path} has another one, or none"
                    verdict = replace(verdict, proposal="", unknown=unknown)
            yield replace(part, verdict=verdict)

    def _names(self, operation: Operation) -> list[str]:
        """Return the first names of what an operation reads and does not import itself."""
        imported = {one.name for one in operation.imports}
        found: set[str] = set()
        for read in self.reads:
            for entry in read.read_by([reader_of(operation)]).by:
                found.add(entry.rpartition(" ")[2].partition(".")[0])
        return sorted(found - imported)

    def _is_same(self, name: str, operation: Operation, wanted: Operation) -> bool:
        """Return whether a name stands for the same symbol, or one of equal text; `self` is no module's."""
        old, new = self.before.chain(operation.path, [name]), self.now.chain(wanted.path, [name])
        if not old or not new:
            return not old
        one, other = old[-1], new[-1]
        return (one.path, one.symbol) == (other.path, other.symbol) or (
            _text(one, self.before) == _text(other, self.now)
        )


def _text(found: ResolvedSymbol, upstream: SymbolLookup) -> Read:
    return replace(described(found, upstream, whole=True), path="", symbol="")
