"""Unprintable paths: upstream's files → a notice for each shipped one with an invisible character in its name."""

from __future__ import annotations

from npu_overlays.sources.pin import Pin
from npu_overlays.sources.tree import SourceTree


def unprintable_path_notices(pin: Pin, tree: SourceTree, *, overlay: str) -> list[str]:
    """Return the notices.

    Args:
        pin: says what is shipped.
        tree: upstream.
        overlay: its name.
    """
    paths = sorted(path for path in tree.entries if not path.isprintable() and pin.place(path))
    return [
        f"{overlay}: upstream has a character in the name {path!a} that nobody sees: pip installs such a wheel, and uv"
        " does not"
        for path in paths
    ]
