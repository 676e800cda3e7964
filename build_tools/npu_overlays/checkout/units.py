"""Units: content of an overlay → the things it says one by one, and content that says only some of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from npu_overlays.overlay.bounds import ALWAYS, Bounds
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.layer_content import OverlayFile, SourcedEdit, file_reason
from npu_overlays.overlay.operations import Operation, Reason
from npu_overlays.overlay.patches import read_patch

Item = Operation | OverlayFile | SourcedEdit
_Keyed = TypeVar("_Keyed", Operation, SourcedEdit)


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One thing that an overlay says, as its author wrote it: a shared definition is one, whatever its targets.

    Args:
        action: that of an operation, or ``patch``, ``edit``, ``file``.
        targets: what it changes, ``path:Symbol`` or ``path``.
        paths: the files that changes.
        file: the overlay's file that says so, for people.
        layer: the layer it lies in.
        reason: why.
        bounds: to which versions of upstream it applies.
        items: the parts of the content it stands for.
    """

    action: str
    targets: tuple[str, ...]
    paths: tuple[str, ...]
    file: str
    layer: str
    reason: Reason
    bounds: Bounds = ALWAYS
    items: tuple[Item, ...] = field(repr=False)

    @property
    def name(self) -> str:
        """What a person calls it: the first target, or for a patch its file."""
        return self.file.rpartition("/patches/")[2] if self.action == "patch" else self.targets[0]

    @property
    def names(self) -> frozenset[str]:
        """Everything it can be called: its targets, their symbols alone, the paths, the file of a patch."""
        symbols = (target.partition(":")[2] for target in self.targets)
        return frozenset([self.name, *self.targets, *symbols, *self.paths])


def units_of(content: Content) -> tuple[Unit, ...]:
    """Return everything that content says, in the order in which a build applies it.

    Raises:
        MergeError: a patch cannot be read.
    """
    edits = _grouped((edit, (edit.layer, edit.edit)) for edit in content.edits)
    operations = _grouped((one, (one.layer, one.where)) for one in content.operations)
    return (
        *map(_patch, content.patches),
        *map(_edit, edits),
        *map(_file, content.files),
        *map(_operation, operations),
    )


def only(content: Content, units: Iterable[Unit]) -> Content:
    """Return content that says nothing but these units, in its own order."""
    kept = {id(item) for unit in units for item in unit.items}
    return dataclasses.replace(
        content,
        operations=tuple(one for one in content.operations if id(one) in kept),
        files=tuple(one for one in content.files if id(one) in kept),
        patches=tuple(one for one in content.patches if id(one) in kept),
        edits=tuple(one for one in content.edits if id(one) in kept),
    )


def about(content: Content, paths: frozenset[str]) -> Content:
    """Return content that says only what concerns these files; a patch of one of them brings all patches with it."""
    patched = any(paths & set(read_patch(file).paths) for file in content.patches)
    return dataclasses.replace(
        content,
        operations=tuple(one for one in content.operations if one.path in paths),
        files=tuple(one for one in content.files if one.path in paths),
        patches=content.patches if patched else (),
        edits=tuple(one for one in content.edits if one.path in paths),
    )


def _grouped(keyed: Iterable[tuple[_Keyed, Hashable]]) -> Iterator[tuple[_Keyed, ...]]:
    groups: dict[Hashable, list[_Keyed]] = {}
    for item, key in keyed:
        groups.setdefault(key, []).append(item)
    yield from map(tuple, groups.values())


def _patch(file: OverlayFile) -> Unit:
    patch = read_patch(file)
    return Unit(
        action="patch",
        targets=patch.paths,
        paths=patch.paths,
        file=file.file,
        layer=file.layer,
        reason=patch.reason,
        bounds=file.bounds,
        items=(file,),
    )


def _edit(edits: tuple[SourcedEdit, ...]) -> Unit:
    first, paths = edits[0], tuple(edit.path for edit in edits)
    return Unit(
        action="edit",
        targets=paths,
        paths=paths,
        file=first.where.partition(": ")[0],
        layer=first.layer,
        reason=Reason(why=first.edit.why),
        bounds=first.bounds,
        items=edits,
    )


def _file(file: OverlayFile) -> Unit:
    return Unit(
        action="file",
        targets=(file.path,),
        paths=(file.path,),
        file=file.file,
        layer=file.layer,
        reason=Reason(why=file_reason(file)),
        bounds=file.bounds,
        items=(file,),
    )


def _operation(operations: tuple[Operation, ...]) -> Unit:
    first = operations[0]
    symbols = ("*",) if first.emptying else tuple(one.symbol for one in operations)
    paths = tuple(dict.fromkeys(one.path for one in operations))
    targets = tuple(f"{one.path}:{symbol}" for one, symbol in zip(operations, symbols, strict=False))
    return Unit(
        action=first.action,
        targets=targets,
        paths=paths,
        file=first.file,
        layer=first.layer,
        reason=first.reason,
        bounds=first.bounds,
        items=operations,
    )
