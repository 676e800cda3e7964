"""Plan: the changes to an overlay that make it give the edited files."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from npu_overlays.authoring.refresh.edited_files import EditedFile
from npu_overlays.authoring.writer.merge_module_text import OperationChange
from npu_overlays.overlay.layer_content import OverlayFile, SourcedEdit
from npu_overlays.overlay.operations import Operation

# The share of its lines that a file has in common with what it was under another name, as git counts.
_ALIKE = 0.5


@dataclass(frozen=True, kw_only=True)
class AddedFileChange:
    """An added file that comes, changes or goes."""

    # The one there was; None for a new one.
    known: OverlayFile | None
    wanted: EditedFile


@dataclass(frozen=True, kw_only=True)
class PatchChange:
    """A file of upstream's that a patch has to change."""

    path: str
    after: bytes | None  # what the patch leaves; None where it deletes the file
    known: OverlayFile | None  # the patch that changes the file so far, if any
    # Operations that it replaces, and whose reasons it takes over; it is a new patch then.
    instead: tuple[Operation, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EditChange:
    """A substitution that comes, changes or goes."""

    path: str
    # The one there was; None for a new one.
    known: SourcedEdit | None
    find: str
    replace: str | None  # what it puts in; None for one that goes


@dataclass(kw_only=True)
class RefreshPlan:
    """The changes to an overlay."""

    operations: list[OperationChange] = field(default_factory=list)
    # By the path of the module, the symbols it defines, in their order.
    orders: dict[str, list[str]] = field(default_factory=dict)
    files: list[AddedFileChange] = field(default_factory=list)
    patches: list[PatchChange] = field(default_factory=list)
    edits: list[EditChange] = field(default_factory=list)
    # Files that will differ only in comments, blank lines, or the places of imports and additions.
    layouts: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.operations or self.files or self.patches or self.edits)

    def gone(self) -> list[Operation]:
        """Return the operations that go, and whose reasons no patch takes over."""
        taken_over: list[Operation] = []
        for one in self.patches:
            taken_over += one.instead
        gone: list[Operation] = []
        for change in self.operations:
            if change.known and not change.wanted and change.known not in taken_over:
                gone.append(change.known)
        return gone

    def unexplained(self) -> Iterator[tuple[str, str]]:
        """Yield what needs a reason: the action, and its target."""
        for change in self.operations:
            if change.wanted and not change.known:
                yield change.wanted.action, change.target
        for patch in self.patches:
            if not patch.known:
                yield "patch", patch.path
        for edit in self.edits:
            if not edit.known:
                yield "edit", edit.path

    def moved_files(self) -> dict[str, OverlayFile]:
        """Return the added files that go, by the paths of the new ones that are most like them.

        An empty file is like every other: it moved where another file of its folder did.
        """
        left: list[OverlayFile] = []
        new: list[EditedFile] = []
        for change in self.files:
            if change.known is None:
                new.append(change.wanted)
            elif change.wanted.content is None:
                left.append(change.known)
        found: dict[str, OverlayFile] = {}
        if not left:
            return found
        for one in new:
            alike = [_likeness(file.content, one.content or b"") for file in left]
            if max(alike) >= _ALIKE:
                found[one.path] = left[alike.index(max(alike))]
        return found | _moved_empty_files(new, left, found)


def _likeness(one: bytes, other: bytes) -> float:
    """Return the share of their lines that two texts have in common; none if one of them is empty."""
    if not one.strip() or not other.strip():
        return 0.0
    return difflib.SequenceMatcher(None, one.splitlines(), other.splitlines(), autojunk=False).ratio()


def _moved_empty_files(
    new: Sequence[EditedFile], left: Sequence[OverlayFile], moved: dict[str, OverlayFile]
) -> dict[str, OverlayFile]:
    """Return the empty files that go by the paths of new ones, in folders from and to which another file moved."""
    gone = {PurePosixPath(one.path): one for one in left if not one.content.strip()}
    found: dict[str, OverlayFile] = {}
    for one in new:
        path = PurePosixPath(one.path)
        for other, old in moved.items():
            was = PurePosixPath(old.path).parent / path.name
            if not one.content and PurePosixPath(other).parent == path.parent and was in gone:
                found[one.path] = gone[was]
    return found
