"""Tree comparison: two trees → what differs between them, by syntax.

It reads only the trees, never the overlay, so that it checks the overlay's declarations independently.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from npu_overlays.changes.module_comparison import (
    ChangeAction,
    ChangedClass,
    ChangeKind,
    SymbolChange,
    compare_modules,
)
from npu_overlays.model.module import parsed_module
from npu_overlays.sources.tree import PatchedTree


@dataclass(frozen=True, kw_only=True)
class ChangedFile:
    """A file that differs."""

    path: str  # repository path
    action: ChangeAction  # `added`, `updated` or `deleted`
    before: str | None  # sha256 of upstream's content, hex; None where upstream has no such file
    after: str | None  # sha256 of the shipped content, hex; None where none is shipped
    class_changes: tuple[ChangedClass, ...] = ()  # in order of the patched file
    module_changes: tuple[SymbolChange, ...] = ()  # likewise

    def symbols(self) -> Iterator[SymbolChange]:
        """Yield every change once, a class without differing members as a change of kind ``class``."""
        for entry in self.class_changes:
            if entry.changes:
                yield from entry.changes
            else:
                yield entry.as_a_whole()
        yield from self.module_changes


def compare_trees(tree: PatchedTree) -> tuple[ChangedFile, ...]:
    """Return what differs between upstream and the patched tree, by path."""
    found = [compare_file(path, tree.before(path), tree.after(path)) for path in sorted(tree.changed)]
    return tuple(filter(None, found))


def compare_file(path: str, before: bytes | None, after: bytes | None) -> ChangedFile | None:
    """Return the differences between two contents of one file, None for an absent file; None if they are equal."""
    if before == after:
        return None
    action: ChangeAction = "added" if before is None else "deleted" if after is None else "updated"
    classes: tuple[ChangedClass, ...] = ()
    module: tuple[SymbolChange, ...] = ()
    old, new = parsed_module(path, before or b""), parsed_module(path, after or b"")
    if old and new:
        classes, module = compare_modules(old, new, code=action == "updated")
    if not classes and not module:
        name = path.rpartition("/")[2]
        kind: ChangeKind = "text" if old and new and action == "updated" else "file"
        module = (SymbolChange(action="replaced" if action == "updated" else action, kind=kind, symbol=name),)
    return ChangedFile(
        path=path,
        action=action,
        before=_sha256(before),
        after=_sha256(after),
        class_changes=classes,
        module_changes=module,
    )


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
