"""Content: a pin, its layers and upstream's version → every file and operation that applies to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from packaging.version import Version

from npu_overlays.errors import ConfigError, MergeError, Problem
from npu_overlays.overlay.bounds import Bounds
from npu_overlays.overlay.inputs import LOCK_FILE, Input, input_files, inputs_digest
from npu_overlays.overlay.layer_content import OverlayFile, SourcedEdit, read_layers
from npu_overlays.overlay.operations import NO_FORMS, FormTargets, Like, Operation, with_anchors
from npu_overlays.overlay.project import Assigned, Drop, Layer, Overlay

_Item = TypeVar("_Item", OverlayFile, SourcedEdit, Operation)


@dataclass(frozen=True, kw_only=True)
class Dropped:
    """An item that a layer leaves out of those below it."""

    layer: str
    drop: Drop


@dataclass(frozen=True, kw_only=True)
class StillAssigned:
    """What upstream still assigns at run time, and the layer that lists it."""

    layer: str
    assigned: Assigned


@dataclass(frozen=True, kw_only=True)
class Content:
    """Everything that applies to a pin, without dropped items and those for other versions."""

    overlay: Overlay  # the pin
    layers: tuple[str, ...]  # names of the layers it is made of, lowest first, without what is its own
    operations: tuple[Operation, ...]  # from merge modules and shared definitions
    files: tuple[OverlayFile, ...]  # added files of ``tree/``
    patches: tuple[OverlayFile, ...]  # in the order in which they are applied
    edits: tuple[SourcedEdit, ...]  # substitutions in non-Python files
    dropped: tuple[Dropped, ...] = ()  # what layers, or the pin itself, leave out
    assigned: tuple[StillAssigned, ...] = ()  # what upstream still assigns at run time
    inputs: tuple[Input, ...]  # the files that say all of it, the configuration among them

    @property
    def digest(self) -> str:
        """The sha256 over all inputs, hex."""
        return inputs_digest(self.inputs)


def load_content(overlay: Overlay, version: str, forms: FormTargets | None = NO_FORMS) -> Content:
    """Read a pin and its layers.

    Args:
        overlay: the pin.
        version: upstream's; empty if it is not known yet.
        forms: the targets of operations that name a model, as a lock lists them; None leaves these as they are.

    Raises:
        OverlayError: with every mistake of every file; or an item is for some versions only and upstream's is unknown;
            or an operation's targets are unknown.
    """
    chain = overlay.chain
    known = Version(version) if version else None
    selection = _Selection(chain, known)
    layers = read_layers(chain, selection.drops_file, forms or NO_FORMS)
    if known is None and (bounded := next(layers.bounded(), None)):
        what = f"is for some versions of {overlay.pin.project} ({bounded[2]}), and which is pinned is not known yet"
        fix = f"run `npu-overlays lock {overlay.argument}`"
        raise ConfigError([*layers.problems, Problem(where=bounded[1], what=what, fix=fix)])
    operations = selection.kept(layers.operations, lambda one: (one.path, f"{one.path}:{one.symbol}"))
    content = Content(
        overlay=overlay,
        layers=tuple(layer.name for layer in overlay.layers),
        operations=with_anchors(operations),
        files=tuple(selection.kept(layers.files, lambda file: file.names)),
        patches=tuple(selection.kept(layers.patches, lambda file: file.names)),
        edits=tuple(selection.kept(layers.edits, lambda edit: (edit.path,))),
        dropped=tuple(selection.dropped()),
        assigned=tuple(
            StillAssigned(layer=layer.name, assigned=one)
            for layer, one in layers.assigned
            if selection.applies(one.bounds)
        ),
        inputs=input_files(overlay),
    )
    unlisted = [one for one in content.operations if not one.path]
    # Of targets that are not known yet, a drop may name one.
    likes = [one.like for one in layers.operations if one.like and not one.path]
    problems = [*layers.problems, *_clashes(content), *(() if unlisted else selection.unused(likes))]
    problems += [] if forms is None else _unlisted(overlay, unlisted)
    MergeError.raise_for(problems)
    return content


def models_of(overlay: Overlay, version: str) -> list[Operation]:
    """Return the operations of a pin that name a model instead of targets, as written; files with mistakes are skipped.

    Args:
        overlay: the pin.
        version: upstream's; empty if it is not known yet.
    """
    known = Version(version) if version else None
    found: list[Operation] = []
    for one in read_layers(overlay.chain).operations:
        if one.like and (known is None or one.bounds.hold(known)):
            found.append(one)
    return found


def names_dropped(overlay: Overlay, version: str) -> frozenset[str]:
    """Return the names of what the layers of a pin, or the pin itself, drop at a version of upstream."""
    known = Version(version) if version else None
    found: set[str] = set()
    for layer in overlay.chain:
        found.update(drop.name for drop in layer.drops if known is None or drop.bounds.hold(known))
    return frozenset(found)


def _unlisted(overlay: Overlay, operations: Iterable[Operation]) -> Iterator[Problem]:
    """Yield a problem for each operation with unknown targets."""
    for one in operations:
        if one.like:
            what = f"{LOCK_FILE} does not list the definitions like `{one.like.model}` within {one.like.within}"
            yield Problem(where=one.where, what=what, fix=f"run `npu-overlays lock {overlay.argument}`")


class _Selection:
    """Selects the items for a version of upstream, without those that layers drop."""

    def __init__(self, chain: tuple[Layer, ...], version: Version | None) -> None:
        self._version = version
        self._order = {layer.name: number for number, layer in enumerate(chain)}
        self._used: set[tuple[str, str]] = set()
        self._drops: list[tuple[Layer, Drop]] = []
        for layer in chain:
            self._drops += ((layer, drop) for drop in layer.drops)

    def applies(self, bounds: Bounds) -> bool:
        return self._version is None or bounds.hold(self._version)

    def drops_file(self, file: OverlayFile) -> bool:
        return self._is_dropped(file.layer, file.names)

    def _is_dropped(self, layer: str, names: tuple[str, ...]) -> bool:
        found = False
        for above, drop in self._drops:
            if self._order[above.name] > self._order[layer] and any(map(drop.covers, names)):
                # Also of something that is for other versions: a layer is not written for one pin.
                self._used.add((above.name, drop.name))
                found |= self.applies(drop.bounds)
        return found

    def kept(self, items: Iterable[_Item], names: Callable[[_Item], tuple[str, ...]]) -> list[_Item]:
        found: list[_Item] = []
        for item in items:
            if not self._is_dropped(item.layer, names(item)) and self.applies(item.bounds):
                found.append(item)
        return found

    def dropped(self) -> Iterator[Dropped]:
        for layer, drop in self._drops:
            if self.applies(drop.bounds):
                yield Dropped(layer=layer.name, drop=drop)

    def unused(self, unlisted: Sequence[Like]) -> Iterator[Problem]:
        """Yield a problem for each drop of nothing; it may be of a form that is for other versions, and unlisted."""
        for layer, drop in self._drops:
            is_used = (layer.name, drop.name) in self._used
            if not is_used and not any(one.may_have(drop.name) for one in unlisted):
                what = f"`{drop.name}` names nothing in the layers below"
                where = layer.where(f"drop[{layer.drops.index(drop) + 1}]")
                yield Problem(where=where, what=what, fix="delete the entry, or correct its name")


def needs_version(overlay: Overlay) -> bool:
    """Return whether an item of a pin is for some versions of upstream only."""
    return next(read_layers(overlay.chain).bounded(), None) is not None


def _clashes(content: Content) -> Iterator[Problem]:
    """Yield a problem for every added file that two layers hold."""
    first: dict[str, OverlayFile] = {}
    for file in content.files:
        known = first.setdefault(file.path, file)
        if known is not file:
            where = f"leave out that of {known.layer}: a table [[drop]] of {file.layer}"
            fix = f'{where} with name = "{file.path}" and why'
            yield Problem(where=file.file, what=f"adds the same file as {known.file}", fix=fix)
