"""Init: a request → the folder of a new overlay, tried against its upstream, written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from npu_overlays.authoring.init.alternatives import Alternatives
from npu_overlays.authoring.init.base_layers import BaseLayers
from npu_overlays.authoring.init.overlay_files import (
    ExampleOperation,
    comment,
    configuration,
    find_example,
    ignored,
    readme,
    write_files,
)
from npu_overlays.authoring.init.project_layout import initial_settings
from npu_overlays.authoring.init.request import ELSEWHERE, InitRequest
from npu_overlays.authoring.new_folder import new_folder, presence
from npu_overlays.contracts.own_metadata import own_metadata_readers
from npu_overlays.contracts.runtime_coverage import FIRED_FILE
from npu_overlays.errors import ConfigError, MergeError, Problem, UsageError
from npu_overlays.model import model_of
from npu_overlays.model.shipped_modules import EXTENSIONS, module_name
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.pipeline.licences import licence_files
from npu_overlays.pipeline.upstream import acquire, check_shape
from npu_overlays.sources.tree import SourceTree


@dataclass(frozen=True, kw_only=True)
class CreatedOverlay:
    """A new overlay."""

    overlay: Overlay
    files: tuple[str, ...]  # the names of its files
    example: bool  # whether the configuration ends with a first change
    offer: Alternatives  # the files of the release beside the pinned one
    asking: tuple[str, ...]  # modules of upstream's that look for their files in metadata, where the companion has none


@dataclass(frozen=True, kw_only=True)
class StagedOverlay:
    """A new overlay that is not in its place yet."""

    stage: Path  # the folder that will take that place
    overlay: Overlay  # the overlay as it will be there
    tree: SourceTree  # its upstream
    files: Mapping[str, str]  # the texts of its files so far
    offer: Alternatives  # the files of the release beside the pinned one


@contextmanager
def staged_overlay(request: InitRequest, layered: BaseLayers) -> Iterator[StagedOverlay]:
    """Give a new overlay that changes nothing; after the block, which may add to it, it is moved to its place.

    Raises:
        OverlayError: upstream cannot be fetched or overlaid, or the folder exists. Nothing is written then, nor if the
            block fails.
    """
    start = initial_settings(request, layered)
    # The licence files that a layer names of the commit need not be in a release.
    own_licences = "license-files" not in layered.settings or not start.pin.commit
    start = replace(start, license_files=() if own_licences else None)
    label = f"-{request.label}" if request.label else ""
    name = f"{request.project}@{start.pin.short}{label}"
    folder = request.folder or request.parent / name
    problems = list(presence(folder, request.elsewhere))
    if "@" in folder.name and folder.name != name:
        what, fix = f"is named like a pin, and the pin is {name}", f"name it {name}, or without @"
        options = ((str(folder), str(folder.with_name(name))),)
        problems.append(Problem(where=str(folder), what=what, fix=fix, options=options))
    UsageError.raise_for(problems)
    with new_folder(folder, fix=ELSEWHERE) as stage:
        write_files(stage, {CONFIG_FILE: configuration(start)})
        overlay = replace(load_overlay(stage), folder=folder)
        tree = _tree(overlay, request)
        if own_licences:
            names = (name for name in licence_files(overlay, tree) if tree.licence(name) is not None)
            start = replace(start, license_files=tuple(names))
        files = {CONFIG_FILE: configuration(start), "README.md": readme(overlay, start.offer)}
        if text := ignored(folder):
            files[".gitignore"] = text
        write_files(stage, files)
        overlay = replace(load_overlay(stage), folder=folder)
        yield StagedOverlay(stage=stage, overlay=overlay, tree=tree, files=files, offer=start.offer)


def write_overlay(request: InitRequest, layered: BaseLayers) -> CreatedOverlay:
    """Write a new overlay with a first change to its upstream in a comment; raises as `staged_overlay` does."""
    with staged_overlay(request, layered) as new:
        more = _known(request, layered)
        example = _example(new.overlay, new.tree)
        if example:
            first = comment(new.overlay.folder.name, example)
            more |= {CONFIG_FILE: f"{new.files[CONFIG_FILE]}\n{first}"}
        write_files(new.stage, more)
        found = own_metadata_readers(model_of(new.overlay.pin, new.tree), request.project)
        files = tuple({**new.files, **more})
        return CreatedOverlay(
            overlay=new.overlay, files=files, example=example is not None, offer=new.offer, asking=tuple(found)
        )


def _tree(overlay: Overlay, request: InitRequest) -> SourceTree:
    """Return upstream's tree; raises `OverlayError` if no honest wheel can be made of it."""
    try:
        tree = acquire(overlay, request.choice.mode_for(overlay), request.choice.clone(request.project))
        check_shape(overlay, tree)
    except (ConfigError, MergeError) as error:
        fix = "name what is shipped with --package, what may be missing with --not-built, or pin another --archive"
        unwritten = Problem(where=str(overlay.folder), what="was not written", fix=fix)
        raise type(error)((*error.problems, unwritten)) from error
    return tree


def _known(request: InitRequest, layered: BaseLayers) -> dict[str, str]:
    """Return the files that stay valid for a pin that is taken over.

    These are the lock, which lists the commit's files that archives lack, and the record of operations that tests ran.
    """
    if layered.base is None or request.commit or request.release or request.archive or request.packages:
        return {}
    found: dict[str, str] = {}
    for name in (LOCK_FILE, FIRED_FILE):
        file = layered.base.folder / name
        if file.is_file():
            found[name] = file.read_text("utf-8")
    return found


def _example(overlay: Overlay, tree: SourceTree) -> ExampleOperation | None:
    """Return a first change to a module that is not compiled; modules near the top come first, as people know them."""
    compiled: set[str] = set()
    modules: dict[str, str] = {}
    for path in tree.entries:
        place = overlay.pin.place(path)
        if place.endswith(EXTENSIONS):
            compiled.add(module_name(place))
        elif place.endswith(".py"):
            modules[path] = module_name(place)
    paths = [path for path, name in modules.items() if name and name not in compiled]
    paths.sort(key=lambda path: (path.count("/"), path))
    return find_example((path, tree.read(path)) for path in paths)
