"""Moving: added files that come and go → which of those that go the new ones were, under another name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from npu_overlays.overlay.layer_content import OverlayFile
from npu_overlays.overlay.project import FileSettings, Layer
from npu_overlays.refreshing.plan import FileChange
from npu_overlays.refreshing.renaming import ALIKE, likeness


def said_of(layer: Layer, path: str) -> FileSettings | None:
    """Return what a layer says of an added file of its, if anything."""
    return next((one for one in layer.files if one.path == path), None)


def moved_from(files: Sequence[FileChange]) -> dict[str, OverlayFile]:
    """Return the added files that go, by the paths of the new ones that are most like them.

    An empty one is like every other: it moved where another file of its folder did.

    Args:
        files: what becomes of added files.
    """
    left = [one.known for one in files if one.known and one.wanted.content is None]
    found: dict[str, OverlayFile] = {}
    for one in files if left else ():
        alike = {file.path: likeness(file.content, one.wanted.content or b"") for file in left}
        best = max(left, key=lambda file: alike[file.path])
        if one.known is None and alike[best.path] >= ALIKE:
            found[one.wanted.path] = best
    return found | _empty(files, left, found)


def _empty(
    files: Sequence[FileChange], left: Sequence[OverlayFile], found: Mapping[str, OverlayFile]
) -> dict[str, OverlayFile]:
    """Return the empty files that go by the paths of the new ones, of folders of which another file moved likewise."""
    folders = {(PurePosixPath(old.path).parent, PurePosixPath(new).parent) for new, old in found.items()}
    gone = {PurePosixPath(one.path): one for one in left if not one.content.strip()}
    new = (PurePosixPath(one.wanted.path) for one in files if one.known is None and not one.wanted.content)
    pairs = ((path, old / path.name) for path in new for old, now in folders if now == path.parent)
    return {str(path): gone[was] for path, was in pairs if was in gone}
