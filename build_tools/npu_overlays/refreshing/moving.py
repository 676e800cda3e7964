"""Moving: added files that come and go → what layers say of those that go, for those that they became."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from npu_overlays.overlay.project import FileSettings, Layer
from npu_overlays.refreshing.planning import FileChange

# So much of its lines a file shares with what it was under another name, as git has it.
_ALIKE = 0.5


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
        likeness = {path: _likeness(left[path].content, one.wanted.content or b"") for path in said}
        best = max(likeness, key=lambda path: likeness[path], default="") if one.known is None else ""
        if best and likeness[best] >= _ALIKE:
            found[one.wanted.path] = said[best]
    return found


def _likeness(one: bytes, other: bytes) -> float:
    return difflib.SequenceMatcher(None, one.splitlines(), other.splitlines(), autojunk=False).ratio()
