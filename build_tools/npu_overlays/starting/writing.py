"""Writing: what a new overlay is to say → its folder, tried against its upstream, whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass, replace

from npu_overlays.acquisition import acquire, check_shape
from npu_overlays.errors import ConfigError, MergeError, Problem, UsageError
from npu_overlays.lock.fired import FIRED_FILE
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.licences import licence_files
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.starting.example import Example, find_example
from npu_overlays.starting.layered import Layered
from npu_overlays.starting.pinning import start_of
from npu_overlays.starting.project import Start, comment, configuration, ignored, readme, staged, write_files
from npu_overlays.starting.request import Request, presence
from npu_overlays.tree import SourceTree


@dataclass(frozen=True, kw_only=True)
class Started:
    """A new overlay, and the names of its files."""

    overlay: Overlay
    files: tuple[str, ...]


def write_overlay(request: Request, layered: Layered) -> Started:
    """Write a new overlay.

    Raises:
        OverlayError: upstream cannot be had, or no honest wheel can be made of it, or the folder is there already;
            nothing is written then.
    """
    start = start_of(request, layered)
    # What a layer says of the commit's licences need not hold for a release.
    own_licences = "license-files" not in layered.settings or not start.pin.commit
    start = replace(start, license_files=() if own_licences else None)
    label = f"-{request.label}" if request.label else ""
    folder = request.folder or request.parent / f"{request.project}@{start.pin.short}{label}"
    if problems := list(presence(folder)):
        raise UsageError(problems)
    with staged(folder) as stage:
        write_files(stage, {CONFIG_FILE: configuration(start)})
        overlay = replace(load_overlay(stage), folder=folder)
        tree = _tree(overlay, request)
        if own_licences:
            start = replace(start, license_files=tuple(path for path in licence_files(overlay, tree) if path in tree))
        files = _files(start, overlay, _example(overlay, tree)) | _known(request, layered)
        write_files(stage, files)
        overlay = replace(load_overlay(stage), folder=folder)
    return Started(overlay=overlay, files=tuple(files))


def _tree(overlay: Overlay, request: Request) -> SourceTree:
    """Return the tree of which the wheel is made; raises `OverlayError` where that cannot be an honest one."""
    try:
        tree = acquire(overlay, request.choice.mode_for(overlay), request.choice.clone(request.project))
        check_shape(overlay, tree)
    except (ConfigError, MergeError) as error:
        fix = "say what is shipped with --package, and what may be missing with --not-built"
        unwritten = Problem(where=str(overlay.folder), what="was not written", fix=fix)
        raise type(error)((*error.problems, unwritten)) from error
    return tree


def _known(request: Request, layered: Layered) -> dict[str, str]:
    """Return what is known of a pin that is taken over: the lock, which knows what of the commit the archives lack.

    And what its tests saw, since the operations are the same there.
    """
    if layered.base is None or request.commit or request.release or request.packages:
        return {}
    files = ((name, layered.base.folder / name) for name in (LOCK_FILE, FIRED_FILE))
    return {name: file.read_text("utf-8") for name, file in files if file.is_file()}


def _example(overlay: Overlay, tree: SourceTree) -> Example | None:
    """Return a first change; what lies near the top is what people know."""
    paths = [path for path in tree.entries if path.endswith(".py") and overlay.pin.place(path)]
    paths.sort(key=lambda path: (path.count("/"), path))
    return find_example((path, tree.read(path)) for path in paths)


def _files(start: Start, overlay: Overlay, example: Example | None) -> dict[str, str]:
    text = configuration(start)
    if example:
        text = f"{text}\n{comment(overlay.folder.name, example)}"
    files = {CONFIG_FILE: text, "README.md": readme(overlay), ".gitignore": ignored(overlay.folder)}
    return {name: content for name, content in files.items() if content}
