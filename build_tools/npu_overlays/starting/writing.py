"""Writing: what a new overlay is to say → its folder, tried against its upstream, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from npu_overlays.contracts.own_metadata import asking
from npu_overlays.contracts.runtime_coverage import FIRED_FILE
from npu_overlays.errors import ConfigError, MergeError, Problem, UsageError
from npu_overlays.model.shipped_modules import EXTENSIONS, module_name
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.pipeline.licences import licence_files
from npu_overlays.pipeline.upstream import acquire, check_shape
from npu_overlays.sources.tree import SourceTree
from npu_overlays.starting.example import Example, find_example
from npu_overlays.starting.layered import Layered
from npu_overlays.starting.offer import Offer
from npu_overlays.starting.pinning import start_of
from npu_overlays.starting.project import comment, configuration, ignored, readme, staged, write_files
from npu_overlays.starting.request import Request, presence


@dataclass(frozen=True, kw_only=True)
class Started:
    """A new overlay.

    Args:
        overlay: the overlay.
        files: the names of its files.
        example: whether the configuration ends with a first change.
        offer: what the pinned release has beside the pinned file.
        asking: modules of upstream's that look for their files where the companion has none.
    """

    overlay: Overlay
    files: tuple[str, ...]
    example: bool
    offer: Offer
    asking: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A new overlay that is not in its place yet.

    Args:
        stage: the folder that will take that place.
        overlay: what it is to be, there.
        tree: its upstream.
        files: the files it has so far.
        offer: what the pinned release has beside the pinned file.
    """

    stage: Path
    overlay: Overlay
    tree: SourceTree
    files: Mapping[str, str]
    offer: Offer


@contextmanager
def begun(request: Request, layered: Layered) -> Iterator[Begun]:
    """Give a new overlay that changes nothing, for as long as something may be added to it; then it takes its place.

    Raises:
        OverlayError: upstream cannot be had, or no honest wheel can be made of it, or the folder is there already;
            nothing is written then, nor where the block fails.
    """
    start = start_of(request, layered)
    # What a layer says of the commit's licences need not hold for a release.
    own_licences = "license-files" not in layered.settings or not start.pin.commit
    start = replace(start, license_files=() if own_licences else None)
    label = f"-{request.label}" if request.label else ""
    name = f"{request.project}@{start.pin.short}{label}"
    folder = request.folder or request.parent / name
    if problems := [*presence(folder, request.elsewhere), *_misnamed(folder, name)]:
        raise UsageError(problems)
    with staged(folder) as stage:
        write_files(stage, {CONFIG_FILE: configuration(start)})
        overlay = replace(load_overlay(stage), folder=folder)
        tree = _tree(overlay, request)
        if own_licences:
            names = (name for name in licence_files(overlay, tree) if tree.licence(name) is not None)
            start = replace(start, license_files=tuple(names))
        files = {CONFIG_FILE: configuration(start), "README.md": readme(overlay, start.offer)}
        files |= {".gitignore": ignored(folder)}
        files = {name: content for name, content in files.items() if content}
        write_files(stage, files)
        overlay = replace(load_overlay(stage), folder=folder)
        yield Begun(stage=stage, overlay=overlay, tree=tree, files=files, offer=start.offer)


def _misnamed(folder: Path, name: str) -> Iterator[Problem]:
    """Yield a problem where a folder is called after another pin than that of the overlay, whose name is given."""
    if "@" in folder.name and folder.name != name:
        what, options = (
            f"is called after a pin, and what is pinned is {name}",
            ((str(folder), str(folder.with_name(name))),),
        )
        yield Problem(where=str(folder), what=what, fix=f"call it {name}, or a name without @", options=options)


def write_overlay(request: Request, layered: Layered) -> Started:
    """Write a new overlay with a first change to its upstream in a comment; raises `OverlayError` as `begun` does."""
    with begun(request, layered) as new:
        more = _known(request, layered)
        example = _example(new.overlay, new.tree)
        if example:
            first = comment(new.overlay.folder.name, example)
            more |= {CONFIG_FILE: f"{new.files[CONFIG_FILE]}\n{first}"}
        write_files(new.stage, more)
        place = new.overlay.pin.place
        shipped = ((path, place(path), new.tree.read(path)) for path in new.tree.entries if path.endswith(".py"))
        found = asking(shipped, request.project)
        files = tuple({**new.files, **more})
        return Started(
            overlay=new.overlay, files=files, example=example is not None, offer=new.offer, asking=tuple(found)
        )


def _tree(overlay: Overlay, request: Request) -> SourceTree:
    """Return the tree of which the wheel is made; raises `OverlayError` where that cannot be an honest one."""
    try:
        tree = acquire(overlay, request.choice.mode_for(overlay), request.choice.clone(request.project))
        check_shape(overlay, tree)
    except (ConfigError, MergeError) as error:
        fix = "say what is shipped with --package, what may be missing with --not-built, or pin another --archive"
        unwritten = Problem(where=str(overlay.folder), what="was not written", fix=fix)
        raise type(error)((*error.problems, unwritten)) from error
    return tree


def _known(request: Request, layered: Layered) -> dict[str, str]:
    """Return what is known of a pin that is taken over: the lock, which knows what of the commit the archives lack.

    And what its tests saw, since the operations are the same there.
    """
    if layered.base is None or request.commit or request.release or request.archive or request.packages:
        return {}
    files = ((name, layered.base.folder / name) for name in (LOCK_FILE, FIRED_FILE))
    return {name: file.read_text("utf-8") for name, file in files if file.is_file()}


def _example(overlay: Overlay, tree: SourceTree) -> Example | None:
    """Return a first change, to a module that is not compiled; what lies near the top is what people know."""
    places = {path: overlay.pin.place(path) for path in tree.entries}
    compiled = {module_name(place) for place in places.values() if place.endswith(EXTENSIONS)}
    modules = {path: module_name(place) for path, place in places.items() if place.endswith(".py")}
    paths = [path for path, name in modules.items() if name and name not in compiled]
    paths.sort(key=lambda path: (path.count("/"), path))
    return find_example((path, tree.read(path)) for path in paths)
