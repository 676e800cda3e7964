"""Wheel files: a prepared build → the files of a wheel, its companion, or an sdist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import npu_summary
from npu_doctor.knowledge import settings_file
from npu_overlays.changes.record import manifest, unified_diff
from npu_overlays.files import canonical_json
from npu_overlays.overlay.inputs import LOCK_FILE, layer_files
from npu_overlays.overlay.layers import BUNDLED_LAYERS
from npu_overlays.overlay.project import BUNDLED, CONFIG_FILE, LAYER_FILE, STACKS_FOLDER, Layer, Overlay
from npu_overlays.overlay.revisions import REVISIONS_FILE
from npu_overlays.pipeline.build_version import CODE
from npu_overlays.pipeline.loader import Loaded
from npu_overlays.pipeline.preparation import Prepared
from npu_overlays.sources.deflated_members import DeflatedMember, upstream_members
from npu_overlays.sources.tree import PatchedTree
from npu_overlays.wheels.assembly import WheelFile
from npu_overlays.wheels.explanation import explanations
from npu_summary.changes import SCHEMES


def companion_files(prepared: Prepared) -> list[WheelFile]:
    """Return a companion's modules, which say where the patched packages are."""
    overlay = prepared.content.overlay
    said = explanations(overlay.pin.project, prepared.version, overlay.distribution, prepared.shipped.values())
    return [WheelFile(place=place, content=content) for place, content in said.items()]


def wheel_files(prepared: Prepared) -> list[WheelFile]:
    """Return every file of a wheel but its metadata, in the order in which hatchling walks through folders."""
    tree, shipped = prepared.tree, prepared.shipped
    kept = upstream_members(tree.upstream, prepared.content.overlay.pin)
    files = [_shipped(tree, kept, path, place) for path, place in shipped.items()]
    files += _summary_files(prepared)
    listed = canonical_json(manifest(prepared.record, [(file.place, file.packed.sha256) for file in files]))
    package = prepared.content.overlay.summary_package
    files.append(WheelFile(place=f"{package}/manifest.json", content=listed))
    # A wheel has a folder called after itself for what lies outside the library folder.
    stem = f"{prepared.content.overlay.distribution.replace('-', '_')}-{prepared.version}"
    for number, file in enumerate(files):
        if file.place.startswith(f"{SCHEMES}/"):
            files[number] = replace(file, place=f"{stem}{file.place}")
    return sorted(files, key=_walked)


def _shipped(tree: PatchedTree, kept: Mapping[str, DeflatedMember], path: str, place: str) -> WheelFile:
    member = None if path in tree.changed else kept.get(tree.upstream.entries[path].blob)
    content = b"" if member else tree.after(path) or b""
    return WheelFile(place=place, content=content, executable=tree.is_executable(path), member=member)


def _walked(file: WheelFile) -> tuple[tuple[bool, str], ...]:
    """Return the order of a file among others: those of a folder by name, and then the folders in it."""
    *folders, name = file.place.split("/")
    return (*[(True, folder) for folder in folders], (False, name))


def _summary_files(prepared: Prepared) -> Iterator[WheelFile]:
    """Yield the code, data and diff of the summary package; the manifest, which lists them, comes later."""
    package = prepared.content.overlay.summary_package
    code = Path(npu_summary.__file__).parent
    for file in sorted(code.rglob("*")):
        path = file.relative_to(code).as_posix()
        if file.suffix in CODE:
            yield WheelFile(place=f"{package}/{path}", content=file.read_bytes())
    yield WheelFile(place=f"{package}/changes.json", content=canonical_json(prepared.record))
    diff = unified_diff(prepared.tree).encode("utf-8", errors="surrogateescape")
    yield WheelFile(place=f"{package}/changes.diff", content=diff)


def sdist_files(loaded: Loaded) -> dict[str, str]:
    """Return the files of an sdist by path on disk, with their place: all inputs, and the files read of partners."""
    overlay = loaded.overlay
    # The overlay's own as well: else a .gitignore could leave some of them out.
    placed = {str(file): name for name, file in layer_files(overlay.chain[-1])}
    if (overlay.folder / REVISIONS_FILE).is_file():
        placed[str(overlay.folder / REVISIONS_FILE)] = REVISIONS_FILE
    if overlay.root.name == BUNDLED:
        return placed  # the others are already in the sdist this is built from
    for place, layer in _bundled_layers(BUNDLED, overlay):
        placed |= {str(file): f"{place}/{name}" for name, file in layer_files(layer)}
    for partner in loaded.partners:
        home = f"{BUNDLED}/{partner.name}"
        for name in (CONFIG_FILE, LOCK_FILE):
            placed[str(partner.folder / name)] = f"{home}/{name}"
        # Its layers decide its name, and what its own file may say; what they change makes no difference here.
        for place, layer in _bundled_layers(f"{home}/{BUNDLED}", partner):
            placed[str(layer.folder / LAYER_FILE)] = f"{place}/{LAYER_FILE}"
    folder = loaded.stacks.folder
    files = [folder / f"{stack.name}.json" for stack in loaded.stacks.of(overlay.name)]
    for file in [*files, settings_file(folder)]:
        if file.is_file():
            placed[str(file)] = f"{BUNDLED}/{STACKS_FOLDER}/{file.relative_to(folder).as_posix()}"
    return placed


def _bundled_layers(home: str, overlay: Overlay) -> Iterator[tuple[str, Layer]]:
    """Yield where each layer of an overlay lies in an sdist."""
    for number, layer in enumerate(overlay.layers):
        yield f"{home}/{BUNDLED_LAYERS}/{number}/{layer.folder.name}", layer
