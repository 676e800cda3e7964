"""Locks made of overlays written on the spot, as `npu-overlays lock` makes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from language.overlays import layer, write
from language.pairs import source_tree, text
from npu_overlays.changes.patch_contracts import patch_contracts
from npu_overlays.checks.patched_tree import apply_overlay
from npu_overlays.contracts.contract_drift import drift_notices
from npu_overlays.contracts.contracts import contracts
from npu_overlays.contracts.form_targets import found_content
from npu_overlays.contracts.lockfile import Lock, load_lock, render_lock, write_lock
from npu_overlays.contracts.metadata import UpstreamMetadata
from npu_overlays.contracts.read_occurrences import read_occurrences
from npu_overlays.contracts.reads import recorded
from npu_overlays.merge.module_deletion import written_out
from npu_overlays.model.symbol_lookup import SymbolLookup
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.overlay_folders import find_overlay


class LockedOverlay(NamedTuple):
    """A pin, its lock and its upstream."""

    content: Content
    lock: Lock
    upstream: SymbolLookup


def locked(root: Path, name: str, upstream: Mapping[str, str | bytes], version: str = "1.0") -> LockedOverlay:
    """Return a pin and the lock that `npu-overlays lock` would make from an upstream of the given files."""
    files = {path: one if isinstance(one, bytes) else text(one).encode() for path, one in upstream.items()}
    tree = source_tree(files)
    content = written_out(found_content(find_overlay(root, name), version, tree), tree)
    applied = apply_overlay(content, tree)
    found = (*contracts(content, tree, applied.before.classes), *patch_contracts(applied.patched))
    there = applied.before.symbols
    lock = Lock(
        commit=content.overlay.pin.commit,
        metadata=UpstreamMetadata(version=version, fields={}, scripts={}),
        contracts=found,
        reads=recorded(read_occurrences(content, there, applied)),
    )
    return LockedOverlay(content, lock, there)


def write_locked(root: Path, name: str, upstream: Mapping[str, str | bytes], version: str) -> None:
    """Write a pin with nothing of its own, and its lock."""
    made = locked(root, write(root, {}, name=name), upstream, version)
    write_lock(made.content.overlay.folder, made.lock)


def told(  # noqa: PLR0913  # the two pins, the layer and what is the second pin's own
    tmp_path: Path,
    before: Mapping[str, str | bytes],
    after: Mapping[str, str | bytes],
    files: Mapping[str, str | bytes],
    own: Mapping[str, str | bytes] = {},
    *,
    base: str = "",
    config: str = "",
) -> list[str]:
    """Return what is told of a layer of `files` that is carried from the one upstream to the other."""
    root = tmp_path / "o"
    layer(root, files, config=base)
    write_locked(root, "base", before, "1.0")
    made = locked(root, write(root, own, name="new", config=config), after, "1.1")
    write_lock(made.content.overlay.folder, made.lock)
    assert render_lock(load_lock(made.content.overlay)) == render_lock(made.lock)
    return drift_notices(*made)
