"""Packing: what was prepared → a wheel or an sdist, written by hatchling."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hatchling.builders.plugin.interface import IncludedFile
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from npu_overlays.errors import ConfigError, OutputError, Problem, listing
from npu_overlays.overlay.compiled import PURE
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.pipeline import Prepared
from npu_overlays.wheels.contents import record_digest, recorded_digests
from npu_overlays.wheels.staging import WheelFile, companion_table, project_table, sdist_files, wheel_files

_SBOMS = "sboms"
_FILE = ".npu-overlays-file"


def _target(table: dict[str, Any]) -> dict[str, str]:
    """Return what hatchling is told of the metadata: its version is the lowest that has all fields of the table.

    Some indexes refuse newer ones; where upstream's own needs one, ours does.
    """
    newer = "import-names" in table or "import-namespaces" in table
    return {"core-metadata-version": "2.5" if newer else "2.4"}


class WheelOfFiles(WheelBuilder):
    """Hatchling's builder, with the tag and the files handed over.

    Hatchling reads one file after the other, so they lie on disk one after the other as well, in the same place: to
    make thousands of files costs more than to deflate them. What it has read is compared with what it was given.

    Args:
        root: a folder to write that file to, in which licences and bills of materials lie.
        table: the ``[project]`` table.
        build_data: what else hatchling is told: tag, bills of materials.
        files: what the wheel is to hold beside its metadata, in hatchling's order.
    """

    def __init__(
        self, root: Path, table: dict[str, Any], build_data: dict[str, Any], files: Iterable[WheelFile] = ()
    ) -> None:
        # Import names make hatchling ask for its own selection of files, which there is none of.
        target = {**_target(table), "bypass-selection": True}
        super().__init__(str(root), config=_document(table, wheel=target))
        self._data = build_data
        self._files = files
        self._digests: dict[str, str] = {}

    def get_default_build_data(self) -> dict[str, Any]:
        """Return hatchling's data with ours."""
        return {**super().get_default_build_data(), **self._data}

    def recurse_included_files(self) -> Iterator[IncludedFile]:
        """Yield the files that were handed over, and write each when it is asked for."""
        file = Path(self.root, _FILE)
        file.touch()
        for one in self._files:
            with file.open("r+b") as opened:
                opened.write(one.content)
                opened.truncate()
            file.chmod(0o755 if one.executable else 0o644)
            self._digests[one.place] = record_digest(one.content)
            yield IncludedFile(str(file), "", one.place)

    def build_standard(self, directory: str, **build_data: Any) -> str:
        """Write the wheel and return its path; raises `OutputError` where it does not hold what was handed over."""
        made = Path(super().build_standard(directory, **build_data))
        recorded = recorded_digests(made)
        if wrong := [place for place, digest in self._digests.items() if recorded.get(place) != digest]:
            made.unlink()
            what = f"hatchling {version('hatchling')} wrote other bytes than it was given: {listing(wrong)}"
            raise OutputError(Problem(where=str(made), what=what, fix="use hatchling 1.30, and report this"))
        return str(made)


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
        root = Path(folder)
        sboms = {f"{_SBOMS}/{name}": content for name, content in prepared.tree.upstream.sboms.items()}
        for name, content in {**prepared.licences, **sboms}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        tag, pure = prepared.tag
        data = {"tag": tag, "pure_python": pure, "sbom_files": [*sboms]}
        builder = WheelOfFiles(root, project_table(prepared), data, wheel_files(prepared))
        return _written(builder, prepared.content.overlay, out)


def pack_companion(prepared: Prepared, out: Path) -> Path:
    """Write the companion of an overlay's wheel into a folder and return it; raises `OverlayError`."""
    with tempfile.TemporaryDirectory(prefix="npu-overlays-companion-") as folder:
        return _written(
            WheelOfFiles(Path(folder), companion_table(prepared), {"tag": PURE}), prepared.content.overlay, out
        )


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
            builder = WheelOfFiles(Path(folder), {**table, "license-files": []}, {})
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
