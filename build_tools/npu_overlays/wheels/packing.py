"""Packing: what was prepared → a wheel or an sdist, written by hatchling."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from npu_overlays.errors import ConfigError, Problem
from npu_overlays.overlay.compiled import PURE
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.pipeline import Prepared
from npu_overlays.wheels.staging import companion_table, project_table, sdist_files, stage_wheel

_SBOMS = "sboms"


def _target(table: dict[str, Any]) -> dict[str, str]:
    """Return what hatchling is told of the metadata: its version is the lowest that has all fields of the table.

    Some indexes refuse newer ones; where upstream's own needs one, ours does.
    """
    newer = "import-names" in table or "import-namespaces" in table
    return {"core-metadata-version": "2.5" if newer else "2.4"}


class _Wheel(WheelBuilder):
    """Hatchling's builder, with the tag and the files handed over."""

    def __init__(self, root: Path, table: dict[str, Any], build_data: dict[str, Any]) -> None:
        target = {**_target(table), "bypass-selection": True}
        super().__init__(str(root), config=_document(table, wheel=target))
        self._data = build_data

    def get_default_build_data(self) -> dict[str, Any]:
        """Return hatchling's data with ours."""
        return {**super().get_default_build_data(), **self._data}


class _Sdist(SdistBuilder):
    """Hatchling's builder, with more files than lie in the folder."""

    def __init__(self, root: Path, table: dict[str, Any], files: dict[str, str]) -> None:
        super().__init__(str(root), config=_document(table, sdist=_target(table)))
        self._files = files

    def get_default_build_data(self) -> dict[str, Any]:
        """Return hatchling's data with ours."""
        data = super().get_default_build_data()
        return {**data, "force_include": {**data.get("force_include", {}), **self._files}}


def _document(table: dict[str, Any], **targets: dict[str, Any]) -> dict[str, Any]:
    return {"project": table, "tool": {"hatch": {"build": {"targets": targets}}}}


def pack_wheel(prepared: Prepared, out: Path) -> Path:
    """Write the wheel of an overlay into a folder and return it; raises `OverlayError`."""
    with tempfile.TemporaryDirectory(prefix="npu-overlays-stage-") as folder:
        root, staging = Path(folder, "project"), Path(folder, "files")
        staging.mkdir()
        root.mkdir()
        sboms = {f"{_SBOMS}/{name}": content for name, content in prepared.tree.upstream.sboms.items()}
        for name, content in {**prepared.licences, **sboms}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        tag, pure = prepared.tag
        data = {
            "force_include": stage_wheel(prepared, staging),
            "tag": tag,
            "pure_python": pure,
            "sbom_files": [*sboms],
        }
        return _written(_Wheel(root, project_table(prepared), data), prepared.content.overlay, out)


def pack_companion(prepared: Prepared, out: Path) -> Path:
    """Write the companion of an overlay's wheel into a folder and return it; raises `OverlayError`."""
    with tempfile.TemporaryDirectory(prefix="npu-overlays-companion-") as folder:
        return _written(_Wheel(Path(folder), companion_table(prepared), {"tag": PURE}), prepared.content.overlay, out)


def pack_sdist(prepared: Prepared, out: Path) -> Path:
    """Write the sdist of an overlay into a folder and return it; raises `OverlayError`."""
    overlay = prepared.content.overlay
    table = project_table(prepared)
    table["license-files"] = [name for name in table["license-files"] if (overlay.folder / name).is_file()]
    return _written(_Sdist(overlay.folder, table, sdist_files(prepared.loaded)), overlay, out)


def check_tables(prepared: Prepared) -> None:
    """Refuse what hatchling would refuse when it writes the wheels; raises `ConfigError`."""
    with tempfile.TemporaryDirectory(prefix="npu-overlays-check-") as folder, _explained(prepared.content.overlay):
        for table in (project_table(prepared), companion_table(prepared)):
            builder = _Wheel(Path(folder), {**table, "license-files": []}, {})
            builder.metadata.validate_fields()
            builder.config.core_metadata_constructor(builder.metadata)


def _written(builder: WheelBuilder | SdistBuilder, overlay: Overlay, out: Path) -> Path:
    # Dates in the archive are hatchling's constant, or SOURCE_DATE_EPOCH where the user sets it.
    with _explained(overlay):
        (file,) = builder.build(directory=str(out), versions=["standard"])
        return Path(file)


@contextmanager
def _explained(overlay: Overlay) -> Iterator[None]:
    """Turn hatchling's refusal of a ``[project]`` table into a `ConfigError`."""
    try:
        yield
    except (ValueError, TypeError) as error:
        fix = "correct tool.overlay, or what `npu-overlays lock` took from upstream's metadata"
        where = str(overlay.folder / CONFIG_FILE)
        raise ConfigError(Problem(where=where, what=f"hatchling refuses it: {error}", fix=fix)) from error
