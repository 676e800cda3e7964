"""The build backend (PEP 517) of overlays: the current folder → the wheel that `npu-overlays build` makes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from npu_overlays.errors import OutputError
from npu_overlays.files import temporaries
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.source_choice import choice_from
from npu_overlays.pipeline.loader import Loaded, Loader
from npu_overlays.pipeline.preparation import load, prepare
from npu_overlays.wheels.hatchling_archives import pack_sdist
from npu_overlays.wheels.merge_cache import kits
from npu_overlays.wheels.output_folder import move_into, other_bytes, workspace

Settings = Mapping[str, object] | None


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:  # noqa: ARG001  # the signature is PEP 517's
    """Build the wheel of the overlay in the current folder and return its name."""
    loaded, out = _loaded(), Path(wheel_directory)
    with temporaries(), workspace(out) as folder:
        return _placed(kits(loaded).wheel.put_together(folder), out, loaded.overlay.argument)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:  # noqa: ARG001  # likewise
    """Build the sdist of the overlay in the current folder and return its name."""
    loaded, out = _loaded(), Path(sdist_directory)
    with temporaries(), workspace(out) as folder:
        return _placed(pack_sdist(prepare(loaded), folder), out, loaded.overlay.argument)


def _placed(made: Path, out: Path, overlay: str) -> str:
    OutputError.raise_for(other_bytes((made,), out, overlay))
    move_into(out, [made])
    return made.name


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> NoReturn:
    """Say why there is none: a front end's own message would say less."""
    msg = "an overlay has no editable wheel: its files exist only once they are merged; build a wheel"
    raise NotImplementedError(msg)


def _loaded() -> Loaded:
    """Return the overlay in the current folder, and what belongs to it; a front end passes no options of ours."""
    overlay, choice = load_overlay(Path.cwd()), choice_from(os.environ)
    return load(overlay, Loader([overlay], choice))
