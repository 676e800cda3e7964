"""Plan: what of an overlay has to change for its files to be otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from npu_overlays.overlay.layer_content import OverlayFile, SourcedEdit
from npu_overlays.overlay.operations import Operation
from npu_overlays.refreshing.attempting import Change
from npu_overlays.refreshing.edited import Edited


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """An added file that comes, changes or goes: the one there was, if any, and what is wanted."""

    known: OverlayFile | None
    wanted: Edited


@dataclass(frozen=True, kw_only=True)
class PatchChange:
    """A file of upstream's that a patch is to make otherwise.

    Args:
        path: of the file.
        after: what the patch leaves; None where it deletes the file.
        known: the patch that did so, if any.
        instead: operations in whose place it is, and whose reasons it hands on; it is a new one then.
    """

    path: str
    after: bytes | None
    known: OverlayFile | None
    instead: tuple[Operation, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EditChange:
    """A substitution that comes, changes or goes.

    Args:
        path: of the file.
        known: the one there was, if any.
        find: what it finds.
        replace: what it puts in; None for one that goes.
    """

    path: str
    known: SourcedEdit | None
    find: str
    replace: str | None


@dataclass(kw_only=True)
class Plan:
    """What of an overlay has to change.

    Args:
        operations: by the path of the module.
        orders: the symbols of those modules, in their order.
        files: added files.
        patches: what patches do.
        edits: substitutions.
        layouts: files of which only comments, blank lines or the places of imports and additions will be otherwise.
    """

    operations: list[Change] = field(default_factory=list)
    orders: dict[str, list[str]] = field(default_factory=dict)
    files: list[FileChange] = field(default_factory=list)
    patches: list[PatchChange] = field(default_factory=list)
    edits: list[EditChange] = field(default_factory=list)
    layouts: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.operations or self.files or self.patches or self.edits)

    def gone(self) -> list[Operation]:
        """Return the operations that go, and are no reason of a patch."""
        handed_on = [each for one in self.patches for each in one.instead]
        return [one.known for one in self.operations if one.known and not one.wanted and one.known not in handed_on]

    def unexplained(self) -> Iterator[tuple[str, str]]:
        """Yield what needs a reason: what is done, and to what."""
        for change in self.operations:
            if change.wanted and not change.known:
                yield change.wanted.action, f"{change.wanted.path}:{change.symbol}"
        yield from (("patch", one.path) for one in self.patches if not one.known)
        yield from (("edit", one.path) for one in self.edits if not one.known)
