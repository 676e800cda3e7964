"""Overlay projects written on the spot, like the real ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from npu_overlays.overlay.inputs import input_files, inputs_digest
from npu_overlays.overlay.overlay_folders import load_all
from npu_overlays.overlay.revisions import Revision, record_revision
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.overlay.stacks import stacks_folder
from npu_overlays.pipeline.build_version import revision_digest
from npu_overlays.pipeline.loader import Loader

_CONFIG = """\
[build-system]
requires = ["npu-overlays"]
build-backend = "npu_overlays.backend"

[tool.overlay]
project = "{project}"
suffix = "npu"
purpose = "NPU"
doctor = true
revision = 1
packages = {packages}
license-files = ["LICENSE"]
{overlay}
[tool.overlay.upstream]
repository = "{repository}"
commit = "{commit}"
{upstream}"""


def write_overlay(  # noqa: PLR0913  # one argument for each part of the configuration
    root: Path,
    *,
    project: str,
    commit: str,
    repository: str,
    packages: Sequence[str],
    files: Mapping[str, bytes],
    overlay: str = "",
    upstream: str = "",
) -> Path:
    """Write an overlay project below `root` and return its folder.

    Args:
        root: the folder of overlays.
        project: upstream's distribution name.
        commit: the pinned commit.
        repository: the pinned URL.
        packages: shipped folders.
        files: content by path inside the overlay's folder.
        overlay: more lines for ``[tool.overlay]``.
        upstream: more lines for ``[tool.overlay.upstream]``, and tables after it.
    """
    folder = root / f"{project}@{commit[:7]}"
    config = _CONFIG.format(
        project=project,
        packages=json.dumps(list(packages)),
        repository=repository,
        commit=commit,
        overlay=overlay,
        upstream=upstream,
    )
    for path, content in {"pyproject.toml": config.encode(), "LICENSE": b"Free for all.\n", **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def write_layer(folder: Path, *, project: str, files: Mapping[str, bytes], config: str = "") -> Path:
    """Write a layer of a project and return its folder; `config` is the rest of its ``layer.toml``."""
    for path, content in {"layer.toml": f'project = "{project}"\n{config}'.encode(), **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def write_stacks(root: Path, default: str, stacks: Mapping[str, Sequence[str]]) -> Path:
    """Write a file for each stack beside a folder of overlays, and return their folder."""
    folder = stacks_folder(root)
    for name, overlays in stacks.items():
        write_stack(folder, name, overlays=list(overlays), default=name == default)
    return folder


def write_stack(folder: Path, name: str, **values: object) -> Path:
    """Write one stack and return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    file.write_text(json.dumps(values), "utf-8")
    return file


def give_out(root: Path, *names: str) -> None:
    """Record the locked overlays below `root`, or those named, as they are, as the revision that each names."""
    overlays = load_all(root)
    loader = Loader(overlays, Choice())
    for overlay in (one for one in overlays if not names or one.name in names):
        digest = revision_digest(loader.load(overlay), inputs_digest(input_files(overlay)))
        record_revision(overlay.folder, Revision(number=overlay.revision, why="It is new.", sha256=digest))


def edit(file: Path, old: str, new: str) -> None:
    """Replace text in a file that must hold it exactly once."""
    text = file.read_text("utf-8")
    assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {file}"
    file.write_text(text.replace(old, new), "utf-8")
