"""Content: a pin, its layers and upstream's version → every file and operation that applies to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from packaging.version import Version

from npu_overlays.errors import ConfigError, MergeError, Problem
from npu_overlays.overlay.bounds import Bounds
from npu_overlays.overlay.inputs import Input, input_files, inputs_digest
from npu_overlays.overlay.layer_content import OverlayFile, SourcedEdit, read_layers
from npu_overlays.overlay.operations import Operation, with_anchors
from npu_overlays.overlay.project import Assigned, Drop, Layer, Overlay

_Item = TypeVar("_Item", OverlayFile, SourcedEdit, Operation)


@dataclass(frozen=True, kw_only=True)
class Dropped:
    """What a layer leaves out of those below it."""

    layer: str
    drop: Drop


@dataclass(frozen=True, kw_only=True)
class StillAssigned:
    """What upstream goes on assigning at run time, and the layer that says so."""

    layer: str
    assigned: Assigned


@dataclass(frozen=True, kw_only=True)
class Content:
    """Everything that is done for a pin, what is dropped or is for other versions left out."""

    overlay: Overlay  # the pin
    layers: tuple[str, ...]  # names of the layers it is made of, lowest first, without what is its own
    operations: tuple[Operation, ...]  # from merge modules and shared definitions
    files: tuple[OverlayFile, ...]  # added files of ``tree/``
    patches: tuple[OverlayFile, ...]  # in the order in which they are applied
    edits: tuple[SourcedEdit, ...]  # substitutions in non-Python files
    dropped: tuple[Dropped, ...] = ()  # what layers, or the pin itself, leave out
    assigned: tuple[StillAssigned, ...] = ()  # what upstream goes on assigning at run time
    inputs: tuple[Input, ...]  # the files that say all of it, the configuration among them

    @property
    def digest(self) -> str:
        """The sha256 over all inputs, hex."""
        return inputs_digest(self.inputs)


def load_content(overlay: Overlay, version: str) -> Content:
    """Read a pin and its layers.

    Args:
        overlay: the pin.
        version: upstream's; empty where it is not known yet.

    Raises:
        OverlayError: with every mistake of every file; or something is only for some versions, and none is known.
    """
    chain = overlay.chain
    applies = _applies(version)
    dropping = _Dropping(chain, applies)
    said = read_layers(chain, dropping.drops_file)
    if not version and (bounded := next(said.bounded(), None)):
        what = f"is for some versions of {overlay.pin.project} ({bounded[2]}), and which is pinned is not known yet"
        fix = f"run `npu-overlays lock {overlay.name}`"
        raise ConfigError([*said.problems, Problem(where=bounded[1], what=what, fix=fix)])
    content = Content(
        overlay=overlay,
        layers=tuple(layer.name for layer in overlay.layers),
        operations=tuple(_with_anchors(dropping.kept(said.operations, _names))),
        files=tuple(dropping.kept(said.files, lambda file: file.names)),
        patches=tuple(dropping.kept(said.patches, lambda file: file.names)),
        edits=tuple(dropping.kept(said.edits, lambda edit: (edit.path,))),
        dropped=tuple(Dropped(layer=layer.name, drop=drop) for layer, drop in dropping.drops if dropping.hold(drop)),
        assigned=tuple(
            StillAssigned(layer=layer.name, assigned=one) for layer, one in said.assigned if applies(one.bounds)
        ),
        inputs=input_files(overlay),
    )
    problems = [*said.problems, *_clashes(content), *dropping.unused()]
    if problems:
        raise MergeError(problems)
    return content


def needs_version(overlay: Overlay) -> bool:
    """Return whether something that a pin is made of applies to some versions of upstream only."""
    return next(read_layers(overlay.chain).bounded(), None) is not None


def _applies(version: str) -> Callable[[Bounds], bool]:
    known = Version(version) if version else None
    return lambda bounds: known is None or bounds.hold(known)


def _names(operation: Operation) -> tuple[str, ...]:
    return operation.path, f"{operation.path}:{operation.symbol}"


def _with_anchors(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Yield operations with their anchors, which are among those of their file that apply."""
    by_file: dict[str, list[Operation]] = {}
    for operation in operations:
        by_file.setdefault(operation.file, []).append(operation)
    for those in by_file.values():
        yield from with_anchors(those)


@dataclass
class _Dropping:
    """What applies to a version of upstream, and what each layer leaves out of the ones below it."""

    chain: tuple[Layer, ...]
    applies: Callable[[Bounds], bool]

    def __post_init__(self) -> None:
        self._order = {layer.name: number for number, layer in enumerate(self.chain)}
        self._used: set[tuple[str, str]] = set()
        self.drops = [(layer, drop) for layer in self.chain for drop in layer.drops]

    def hold(self, drop: Drop) -> bool:
        return self.applies(drop.bounds)

    def drops_file(self, file: OverlayFile) -> bool:
        return self._drops(file.layer, file.names)

    def _drops(self, layer: str, names: tuple[str, ...]) -> bool:
        hits = [
            (above.name, drop)
            for above, drop in self.drops
            if self._order[above.name] > self._order[layer] and any(map(drop.covers, names))
        ]
        # Also what is dropped of something that is for other versions: a layer is not written for one pin.
        self._used |= {(above, drop.name) for above, drop in hits}
        return any(self.hold(drop) for _, drop in hits)

    def kept(self, items: Iterable[_Item], names: Callable[[_Item], tuple[str, ...]]) -> list[_Item]:
        left = [item for item in items if not self._drops(item.layer, names(item))]
        return [item for item in left if self.applies(item.bounds)]

    def unused(self) -> Iterator[Problem]:
        for layer, drop in self.drops:
            if (layer.name, drop.name) not in self._used:
                what = f"`{drop.name}` drops nothing of the layers below"
                yield Problem(where=layer.where("drop"), what=what, fix="delete the entry, or mend its name")


def _clashes(content: Content) -> Iterator[Problem]:
    """Yield a problem for every added file that two layers hold."""
    first: dict[str, OverlayFile] = {}
    for file in content.files:
        known = first.setdefault(file.path, file)
        if known is not file:
            where = f"leave out that of {known.layer}: a table [[drop]] of {file.layer}"
            fix = f'{where} with name = "{file.path}" and why'
            yield Problem(where=file.file, what=f"the same file as {known.file}", fix=fix)
