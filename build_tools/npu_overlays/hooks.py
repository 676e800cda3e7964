"""Hatchling's hooks: load the overlay, run the pipeline, hand over the result."""

from __future__ import annotations

import tempfile
import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface
from hatchling.plugin import hookimpl

from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.pipeline import prepare
from npu_overlays.scratch import scratch, temporaries
from npu_overlays.wheels.staging import project_table, sdist_files, stage_wheel


class OverlayMetadataHook(MetadataHookInterface):
    """Fills the ``[project]`` table from the lock and the upstream tree."""

    PLUGIN_NAME = "npu-overlays"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set every dynamic field of an overlay's metadata."""
        with temporaries():
            metadata.update(project_table(prepare(load_overlay(Path(self.root)))))


class OverlayBuildHook(BuildHookInterface[Any]):
    """Adds the patched packages and the summary package to a wheel, and the extended overlays to an sdist."""

    PLUGIN_NAME = "npu-overlays"
    _clean: weakref.finalize[..., OverlayBuildHook] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Stage the files and tell hatchling where each belongs."""
        overlay = load_overlay(Path(self.root))
        if self.target_name == "sdist":
            build_data["force_include"].update(sdist_files(overlay))
        elif version == "standard":
            with temporaries():
                prepared = prepare(overlay)
            opened = ExitStack()
            # Also when the build fails: then hatchling does not call `finalize`.
            self._clean = weakref.finalize(self, opened.close)
            staging = opened.enter_context(scratch(Path(tempfile.gettempdir())))
            build_data["force_include"].update(stage_wheel(prepared, staging))
            build_data["pure_python"] = True
        else:
            msg = "an overlay has no editable wheel: its files exist only once they are merged; build a wheel"
            raise NotImplementedError(msg)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002  # hatchling's signature
        """Remove the staged files."""
        if self._clean is not None:
            self._clean()


@hookimpl
def hatch_register_metadata_hook() -> type[MetadataHookInterface]:
    """Register the metadata hook."""
    return OverlayMetadataHook


@hookimpl
def hatch_register_build_hook() -> type[BuildHookInterface[Any]]:
    """Register the build hook."""
    return OverlayBuildHook
