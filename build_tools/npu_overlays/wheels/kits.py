"""Kits: what hatchling says of a wheel, and its files → the wheel, put together in a moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.files import atomically
from npu_overlays.overlay.inputs import Input
from npu_overlays.wheels.assembly import WheelFile, assemble
from npu_summary.changes import Changes


@dataclass(frozen=True, kw_only=True)
class Kit:
    """All that is put together to one wheel.

    Args:
        name: the wheel's file name.
        metadata: a wheel of hatchling's, with metadata alone.
        files: what else it holds, in hatchling's order.
    """

    name: str
    metadata: bytes
    files: Sequence[WheelFile]

    def put_together(self, out: Path) -> Path:
        """Write the wheel into a folder and return it; raises `OutputError`."""
        with atomically(out / self.name) as file:
            assemble(file, self.metadata, self.files)
        return out / self.name


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The wheels of an overlay, and what is said of them.

    Args:
        wheel: the patched one.
        companion: the one that goes with it.
        version: of both.
        record: the content of the patched one's ``changes.json``.
        inputs: the files of the overlay they were made of.
    """

    wheel: Kit
    companion: Kit
    version: str
    record: Changes
    inputs: tuple[Input, ...]
