"""Hatchling archives: a prepared build → a wheel or an sdist, written by hatchling."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.plugin.interface import IncludedFile
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from npu_overlays.overlay.project import Overlay
from npu_overlays.pipeline.build_version import EPOCH
from npu_overlays.pipeline.loader import Loaded
from npu_overlays.pipeline.preparation import Prepared, prepare
from npu_overlays.progress import step
from npu_overlays.wheels.assembly import Kit, WheelPair
from npu_overlays.wheels.parts import Parts, companion_parts, core_metadata, explained, patched_parts
from npu_overlays.wheels.project_tables import companion_table, project_table
from npu_overlays.wheels.wheel_files import sdist_files


class _Wheel(WheelBuilder):
    """Hatchling's builder, with a given tag, which takes only metadata from the folder.

    Args:
        root: a folder that holds licences and bills of materials.
        parts: the other parts of the wheel.
    """

    def __init__(self, root: Path, parts: Parts) -> None:
        # Import names make hatchling ask for its own selection of files, which there is none of.
        super().__init__(str(root), config=_document(parts.table, wheel={**parts.target, "bypass-selection": True}))
        self._data = {"tag": parts.tag, "pure_python": parts.pure, "sbom_files": [*parts.sboms]}

    def get_default_build_data(self) -> dict[str, Any]:
        """Return hatchling's data with ours."""
        return {**super().get_default_build_data(), **self._data}

    def recurse_included_files(self) -> Iterator[IncludedFile]:
        """Yield nothing: files other than metadata are added afterwards."""
        yield from ()


class _Sdist(SdistBuilder):
    """Hatchling's builder, with more files than lie in the folder."""

    def __init__(self, root: Path, table: dict[str, Any], files: dict[str, str]) -> None:
        super().__init__(str(root), config=_document(table, sdist=Parts(table=table, files=()).target))
        self._files = files

    def get_default_build_data(self) -> dict[str, Any]:
        """Return hatchling's data with ours."""
        data = super().get_default_build_data()
        return {**data, "force_include": {**data.get("force_include", {}), **self._files}}


def _document(table: dict[str, Any], **targets: dict[str, Any]) -> dict[str, Any]:
    return {"project": table, "tool": {"hatch": {"build": {"targets": targets}}}}


def pack(parts: Parts, overlay: Overlay, out: Path) -> Path:
    """Write a wheel into a folder and return it; raises `OverlayError`."""
    return kit(parts, overlay).put_together(out)


def kit(parts: Parts, overlay: Overlay) -> Kit:
    """Return what a wheel is put together from; raises `OverlayError`."""
    with tempfile.TemporaryDirectory(prefix="npu-overlays-stage-") as folder:
        root = Path(folder)
        for name, content in parts.beside.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        told = _written(_Wheel(root, parts), overlay, root)
        return Kit(name=told.name, metadata=told.read_bytes(), files=parts.files)


def pack_wheel(prepared: Prepared, out: Path) -> Path:
    """Write the wheel of an overlay into a folder and return it; raises `OverlayError`."""
    return pack(patched_parts(prepared), prepared.content.overlay, out)


def pack_companion(prepared: Prepared, out: Path) -> Path:
    """Write the companion of an overlay's wheel into a folder and return it; raises `OverlayError`."""
    return pack(companion_parts(prepared), prepared.content.overlay, out)


def kits(prepared: Prepared) -> WheelPair:
    """Return what the wheels of an overlay are put together from; raises `OverlayError`."""
    overlay = prepared.content.overlay
    return WheelPair(
        wheel=kit(patched_parts(prepared), overlay),
        companion=kit(companion_parts(prepared), overlay),
        version=prepared.version,
        record=prepared.record,
        inputs=prepared.content.inputs,
        notices=prepared.notices,
    )


def pack_sdist(prepared: Prepared, out: Path) -> Path:
    """Write the sdist of an overlay into a folder and return it; raises `OverlayError`."""
    overlay = prepared.content.overlay
    table = project_table(prepared)
    table["license-files"] = [name for name in table["license-files"] if (overlay.folder / name).is_file()]
    return _written(_Sdist(overlay.folder, table, sdist_files(prepared.loaded)), overlay, out)


def _written(builder: WheelBuilder | SdistBuilder, overlay: Overlay, out: Path) -> Path:
    with explained(overlay):
        return written(builder, out)


def written(builder: WheelBuilder | SdistBuilder, out: Path) -> Path:
    """Let hatchling write an archive into a folder and return it; all dates in it are hatchling's constant.

    Another date would give other bytes under one version, so hatchling does not see ``SOURCE_DATE_EPOCH``.
    """
    before = os.environ.pop(EPOCH, None)
    try:
        (file,) = builder.build(directory=str(out), versions=["standard"])
    finally:
        if before is not None:
            os.environ[EPOCH] = before
    return Path(file)


def rehearse(loaded: Loaded) -> Prepared:
    """Do everything a build does, except writing the wheel and its companion; raises `OverlayError`."""
    prepared = prepare(loaded)
    step(f"trying what {loaded.overlay.distribution} {prepared.version} will be")
    for table in (project_table(prepared), companion_table(prepared)):
        core_metadata(table, prepared.content.overlay)
    return prepared
