"""Initial settings: a request and the layers below → what the configuration of a new overlay says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from npu_overlays.authoring.init.alternatives import alternatives
from npu_overlays.authoring.init.base_layers import BaseLayers
from npu_overlays.authoring.init.overlay_files import InitialSettings
from npu_overlays.authoring.init.project_layout import check_name, of_source, of_wheel
from npu_overlays.authoring.init.request import InitRequest
from npu_overlays.errors import Problem, UsageError
from npu_overlays.overlay.compiled import BINARY, names
from npu_overlays.progress import step
from npu_overlays.sources import acquisition
from npu_overlays.sources.archive_contents import list_files
from npu_overlays.sources.commits import find_tagged
from npu_overlays.sources.pin import Pin, home_of
from npu_overlays.sources.releases import find_release


def initial_settings(request: InitRequest, layered: BaseLayers) -> InitialSettings:
    """Return the settings of a new overlay, except its layers.

    Raises:
        SourceError: the release or commit cannot be fetched.
        UsageError: it does not show what is shipped, or it is another project's.
    """
    start = InitialSettings(
        pin=Pin(project=request.project, packages=()),
        layers=layered.entries,
        suffix=request.suffix,
        label=request.label,
        not_built=tuple(dict.fromkeys([*(layered.base.not_built if layered.base else ()), *request.not_built])),
    )
    if request.commit:
        return replace(start, pin=_of_commit(request, layered))
    if request.release or request.archive or layered.base is None:
        return _of_release(request, layered, start)
    return replace(start, pin=_with_packages(request, layered, layered.base.pin, {}, ()))


def _of_release(request: InitRequest, layered: BaseLayers, start: InitialSettings) -> InitialSettings:
    cache = acquisition.cache_root().absolute()
    release = find_release(request.project, request.release, file=request.archive, cache=cache, progress=step)
    name = release.archive.file
    files = list_files(release.content, name)
    pin = replace(start.pin, archives=(release.archive,))
    found, not_built = of_source(files, request.project), start.not_built
    if name.endswith(".whl"):
        installed = of_wheel(files, request.named)
        found = {path: name for path, name in installed.items() if not _is_named(path, not_built)}
        if name.endswith("-any.whl"):
            # Upstream says that it is for any platform, and has these in it for some of them.
            compiled = sorted(filter(BINARY.search, files))
            not_built += tuple(path for path in compiled if not _is_named(path, start.not_built))
    pin = _with_packages(request, layered, pin, found, files)
    return replace(start, pin=pin, not_built=not_built, offer=alternatives(release, files, cache=cache))


def _is_named(path: str, not_built: Iterable[str]) -> bool:
    return any(names(glob, path) for glob in not_built)


def _of_commit(request: InitRequest, layered: BaseLayers) -> Pin:
    repository = request.repository or layered.repository
    clone = request.choice.clone(request.project)
    pin = Pin(project=request.project, repository=repository, commit=request.commit, packages=())
    if request.tag:
        tagged = replace(pin, commit="", tag=request.tag)
        commit = find_tagged(tagged, clone=clone, cache=acquisition.cache_root().absolute(), progress=step)
        pin = replace(tagged, commit=commit)
    tree = acquisition.acquire(pin, mode="git", local=clone, progress=step)
    check_name(request.project, tree.content)
    return _with_packages(request, layered, pin, of_source(tree.content, request.project), tree.entries)


def _with_packages(
    request: InitRequest, layered: BaseLayers, pin: Pin, found: Mapping[str, str], files: Iterable[str]
) -> Pin:
    """Return a pin with the packages of the request, else none where the layers name them, else those found.

    `found` has the import name of each path, empty if the path shows it; `files` are all paths, for messages.
    """
    asked = request.packages
    if not asked and "packages" not in layered.settings:
        asked = tuple(found.items())
        if not asked:
            tops = sorted({path.partition("/")[0] for path in files if path.endswith(".py")})
            what = f"which of its folders are shipped does not show; it has {', '.join(tops) or 'no Python module'}"
            options = (("--package", tops[0] if tops else "PATH"),)
            fix = "name each that is shipped, as src/NAME where it lies in src/"
            raise UsageError(Problem(where=pin.project, what=what, fix=fix, options=options))
    imports = tuple((path, home_of(path, name)) for path, name in asked if name)
    return replace(pin, packages=tuple(path for path, _ in asked), imports=imports)
