"""Ground: a folder of overlays → what lies in it and beside it, as far as CI's cells follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.contracts.lock_head import load_metadata
from npu_overlays.contracts.metadata import UpstreamMetadata
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.lookup import load_all
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stacks import Stacks, load_stacks


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What lies where.

    Args:
        root: the folder of overlays.
        overlays: all of them, by name.
        stacks: those beside them.
        locked: by name of the overlay, what its lock says of upstream; nothing for one that is not locked yet.
    """

    root: Path
    overlays: tuple[Overlay, ...]
    stacks: Stacks
    locked: Mapping[str, UpstreamMetadata]


def load_ground(root: Path) -> Ground:
    """Return what lies in a folder of overlays.

    Raises:
        ConfigError: there are no overlays, or one of them, its lock, or a stack is wrong; with every mistake.
    """
    overlays = tuple(load_all(root))
    locked = {one.name: load_metadata(one) for one in overlays if (one.folder / LOCK_FILE).is_file()}
    return Ground(root=root, overlays=overlays, stacks=load_stacks(root), locked=locked)
