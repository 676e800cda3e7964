"""Resurfacing: an edit, and upstream's other files as they were and are → those in which what it looks for is new."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from npu_overlays.model.logical_lines import Layout, layout_of
from npu_overlays.model.selectors import chosen
from npu_overlays.overlay.operations import Edit, Operation
from npu_overlays.porting.fitting import Modules
from npu_overlays.porting.revision import Revision


class Resurfacing:
    """Looks through the files that changed; what stands in one of them how often is remembered by blob.

    Args:
        base: upstream where the overlay was locked.
        modules: parses.
        shipped: whether a path is of the shipped packages.
    """

    def __init__(self, base: Revision, modules: Modules, shipped: Callable[[str], object]) -> None:
        self._base = base
        self._modules = modules
        self._shipped = shipped
        self._counts: dict[tuple[str, str], int] = {}
        self._before = frozenset(base.entries.values())

    def files(self, operation: Operation, now: Revision) -> list[str]:
        """Return the other modules that hold more of what an edit looks for than before, those that it calls first."""
        found = [
            path for path in self._changed(operation, now) if any(self._more(one, path, now) for one in operation.edits)
        ]
        return sorted(found, key=lambda path: (not self._is_called(operation, path, now), path))

    def _changed(self, operation: Operation, now: Revision) -> Iterator[str]:
        """Yield the modules that are others now; what was only renamed is none."""
        for path, blob in now.entries.items():
            if path.endswith(".py") and blob not in self._before and path != operation.path and self._shipped(path):
                yield path

    def _more(self, edit: Edit, path: str, now: Revision) -> bool:
        return self._count(edit.find, path, now) > self._count(edit.find, path, self._base)

    def _count(self, find: str, path: str, revision: Revision) -> int:
        key = (find, revision.blob(path))
        if key[1] and key not in self._counts:
            sought, content = layout_of(find), revision.read(path)
            rarest = max(sought.texts, key=len).encode()
            # To read a module word by word takes a thousand times as long.
            is_there = all(line in content for line in rarest.split(b"\n"))
            self._counts[key] = len(Layout(content.decode("utf-8", "replace")).occurrences(sought)) if is_there else 0
        return self._counts.get(key, 0)

    def _is_called(self, operation: Operation, path: str, now: Revision) -> bool:
        """Return whether a module defines something that the definition names which is edited."""
        own, module = (self._modules.get(now, one) for one in (operation.path, path))
        known = chosen(own, operation.symbol) if own is not None else []
        words = {word for one in known if own for word in layout_of(own.whole_text(one.node).decode()).texts}
        return module is not None and not words.isdisjoint(name.rpartition(".")[2] for name in module.definitions)
