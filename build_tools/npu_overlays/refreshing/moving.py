"""Moving: added files that come and go → what layers say of those that go, for those that they became."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npu_overlays.overlay.project import FileSettings, Layer
from npu_overlays.refreshing.planning import FileChange
from npu_overlays.refreshing.renaming import ALIKE, likeness


def said_of(layer: Layer, path: str) -> FileSettings | None:
    """Return what a layer says of an added file of its, if anything."""
    return next((one for one in layer.files if one.path == path), None)


def carried_over(files: Sequence[FileChange], layers: Mapping[str, Layer]) -> dict[str, FileSettings]:
    """Return what is said of added files that go, by the paths of the new ones that are most like them.

    Args:
        files: what becomes of added files.
        layers: the overlay's, by name.
    """
    left = {one.known.path: one.known for one in files if one.known and one.wanted.content is None}
    said = {path: settings for path, one in left.items() if (settings := said_of(layers[one.layer], path))}
    found: dict[str, FileSettings] = {}
    for one in files:
        alike = {path: likeness(left[path].content, one.wanted.content or b"") for path in said}
        best = max(alike, key=lambda path: alike[path], default="") if one.known is None else ""
        if best and alike[best] >= ALIKE:
            found[one.wanted.path] = said[best]
    return found
