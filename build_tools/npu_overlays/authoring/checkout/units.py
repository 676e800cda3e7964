"""Units: the content of an overlay → its parts as an author wrote them, and content with only some of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from npu_overlays.errors import Problem, UsageError, listing, nearest, suggestion
from npu_overlays.overlay.bounds import ALWAYS, Bounds
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.layer_content import OverlayFile, SourcedEdit, file_reason
from npu_overlays.overlay.operations import ACTIONS, Operation, Reason
from npu_overlays.overlay.patches import read_patch

Item: TypeAlias = Operation | OverlayFile | SourcedEdit


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One part of an overlay, as its author wrote it: a shared definition is one unit for all its targets."""

    action: str  # that of an operation, or ``patch``, ``edit``, ``file``
    targets: tuple[str, ...]  # what it changes, ``path:Symbol`` or ``path``
    # The overlay's file that states it, as messages name it, and the layer of that.
    file: str
    layer: str
    reason: Reason
    bounds: Bounds = ALWAYS  # to which versions of upstream it applies
    items: tuple[Item, ...] = field(repr=False)  # the parts of the content it stands for

    @property
    def name(self) -> str:
        """What a person calls it: the first target, or for a patch its file."""
        return self.file.rpartition("/patches/")[2] if self.action == "patch" else self.targets[0]

    @property
    def paths(self) -> tuple[str, ...]:
        """The files it changes; a name of a file may have a colon itself."""
        if self.action not in ACTIONS:
            return self.targets
        return tuple(dict.fromkeys(target.partition(":")[0] for target in self.targets))

    @property
    def names(self) -> frozenset[str]:
        """Everything it can be called: its targets, their symbols alone, the paths, the file of a patch."""
        symbols = (target.partition(":")[2] for target in self.targets)
        return frozenset([self.name, *self.targets, *symbols, *self.paths])

    @property
    def fields(self) -> dict[str, str]:
        """Its reason and versions besides the why, each in one line, by the names of a patch's fields."""
        reason, bounds = self.reason, self.bounds
        stated = {"Forwarded": reason.forwarded, "Drop-when": reason.drop_when}
        stated |= {"Since": bounds.since, "Until": bounds.until}
        return {name: " ".join(text.split()) for name, text in stated.items() if text.strip()}


def units_of(content: Content) -> tuple[Unit, ...]:
    """Return all units of some content, in the order in which a build applies them.

    Raises:
        MergeError: a patch cannot be read.
    """
    edits: dict[Hashable, list[SourcedEdit]] = {}
    for edit in content.edits:
        edits.setdefault((edit.layer, edit.edit), []).append(edit)
    operations: dict[Hashable, list[Operation]] = {}
    for one in content.operations:
        operations.setdefault((one.layer, one.where), []).append(one)
    return (
        *map(_patch, content.patches),
        *map(_edit, edits.values()),
        *map(_file, content.files),
        *map(_operation, operations.values()),
    )


def only(content: Content, units: Iterable[Unit]) -> Content:
    """Return content with nothing but these units, in its own order."""
    kept: set[int] = set()
    for unit in units:
        kept.update(map(id, unit.items))

    return _filtered(content, lambda item: id(item) in kept)


def about(content: Content, paths: frozenset[str]) -> Content:
    """Return content with only what changes these files; a patch of one of them brings all patches with it."""
    patched = any(paths & set(read_patch(file).paths) for file in content.patches)
    found = _filtered(content, lambda item: item.path in paths)
    return dataclasses.replace(found, patches=content.patches if patched else ())


def _filtered(content: Content, keeps: Callable[[Item], bool]) -> Content:
    return dataclasses.replace(
        content,
        operations=tuple(filter(keeps, content.operations)),
        files=tuple(filter(keeps, content.files)),
        patches=tuple(filter(keeps, content.patches)),
        edits=tuple(filter(keeps, content.edits)),
    )


def _patch(file: OverlayFile) -> Unit:
    patch = read_patch(file)
    return Unit(
        action="patch",
        targets=patch.paths,
        file=file.file,
        layer=file.layer,
        reason=patch.reason,
        bounds=file.bounds,
        items=(file,),
    )


def _edit(edits: Sequence[SourcedEdit]) -> Unit:
    first = edits[0]
    return Unit(
        action="edit",
        targets=tuple(edit.path for edit in edits),
        file=first.where.partition(": ")[0],
        layer=first.layer,
        reason=Reason(why=first.edit.why),
        bounds=first.bounds,
        items=tuple(edits),
    )


def _file(file: OverlayFile) -> Unit:
    return Unit(
        action="file",
        targets=(file.path,),
        file=file.file,
        layer=file.layer,
        reason=Reason(why=file_reason(file)),
        bounds=file.bounds,
        items=(file,),
    )


def _operation(operations: Sequence[Operation]) -> Unit:
    first = operations[0]
    return Unit(
        action=first.action,
        targets=(f"{first.path}:*",) if first.emptying else tuple(map(target_of, operations)),
        file=first.file,
        layer=first.layer,
        reason=first.reason,
        bounds=first.bounds,
        items=tuple(operations),
    )


def target_of(operation: Operation) -> str:
    """Return what a change is made to; of one whose targets are not known, where they are looked for, and the model."""
    if operation.like and not operation.path:
        return f"{operation.like.within}:like {operation.like.model}"
    return f"{operation.path}:{operation.symbol}"


def choose(units: Sequence[Unit], names: Iterable[str], *, overlay: str) -> tuple[Unit, ...]:
    """Return the units that a user's names mean, in their own order.

    Args:
        units: of an overlay.
        names: targets (``path:Symbol``), symbols, paths or names of patches.
        overlay: what names it on a command line.

    Raises:
        UsageError: with every name that means nothing, and every symbol that stands for several operations.
    """
    chosen: list[Unit] = []
    problems: list[Problem] = []
    for name in dict.fromkeys(names):
        meant = [unit for unit in units if name in unit.names]
        is_symbol = all(name not in unit.paths for unit in meant)
        if not meant:
            problems.append(_unknown(name, units, overlay))
        elif len(meant) > 1 and is_symbol:
            targets: list[str] = []
            for unit in meant:
                targets += [target for target in unit.targets if target.endswith(f":{name}")]
            what = f"is the name of {len(meant)} operations: {listing(targets)}"
            fix, options = "name one of them with its path", ((name, targets[0]),)
            problems.append(Problem(where=name, what=what, fix=fix, options=options))
        chosen += meant
    UsageError.raise_for(problems)
    return tuple(unit for unit in units if unit in chosen)


def _unknown(name: str, units: Iterable[Unit], overlay: str) -> Problem:
    known = frozenset().union(*(unit.names for unit in units))
    near = nearest(name, sorted(known))
    fix = suggestion(near, f"name one that `npu-overlays show {overlay}` lists")
    options = ((name, near),) if near else ()
    return Problem(where=name, what="the overlay has no such operation, file or patch", fix=fix, options=options)
