"""Moving: added files that come and go → which of those that go the new ones were, under another name."""

from __future__ import annotations

from collections.abc import Sequence

from npu_overlays.overlay.project import FileSettings, Layer
from npu_overlays.overlay.said import OverlayFile
from npu_overlays.refreshing.planning import FileChange
from npu_overlays.refreshing.renaming import ALIKE, likeness


def said_of(layer: Layer, path: str) -> FileSettings | None:
    """Return what a layer says of an added file of its, if anything."""
    return next((one for one in layer.files if one.path == path), None)


def moved_from(files: Sequence[FileChange]) -> dict[str, OverlayFile]:
    """Return the added files that go, by the paths of the new ones that are most like them.

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
    return found
