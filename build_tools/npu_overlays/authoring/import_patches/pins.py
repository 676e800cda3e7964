"""Pins: a set of patches, the summary and existing overlays → the request for its overlay."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from npu_overlays.authoring.import_patches.ledger import Ledger
from npu_overlays.authoring.import_patches.patch_folder import PatchSet
from npu_overlays.authoring.init.base_layers import SUFFIX, BaseLayers
from npu_overlays.authoring.init.request import InitRequest, faults
from npu_overlays.errors import OverlayError, Problem, UsageError
from npu_overlays.overlay.bounds import version_of
from npu_overlays.overlay.overlay_folders import readable
from npu_overlays.overlay.project import LAYER_FILE
from npu_overlays.progress import step
from npu_overlays.sources import acquisition
from npu_overlays.sources.histories import history
from npu_overlays.sources.pin import Pin

_ID = re.compile(r"[0-9a-f]{7,40}")
_DIGITS = 40


@dataclass(frozen=True, kw_only=True)
class PinnedPatchSet:
    """A set of patches, and the request for the overlay that takes them."""

    patches: PatchSet
    request: InitRequest

    @property
    def layered(self) -> BaseLayers:
        """The layers below it: none, even if a layer of the project lies beside it."""
        beside = self.request.parent / self.patches.project / LAYER_FILE
        return BaseLayers(entries=() if beside.is_file() else None)


def pin(one: PatchSet, ledger: Ledger | None, asked: InitRequest, root: Path) -> PinnedPatchSet:
    """Return the request for the overlay of a set.

    What the user leaves out is taken from the overlays of the same project in `root`: its repository, the packages that
    are shipped, and the name of the wheel.

    Args:
        one: the patches.
        ledger: a summary, which names the commits of their folders.
        asked: the options that the user gives for all sets.
        root: the folder of overlays, if there is one.

    Raises:
        UsageError: with everything that is missing or wrong.
    """
    try:
        request = _request(one, ledger, asked, root)
    except OverlayError as error:
        raise UsageError(error.problems) from error
    UsageError.raise_for(list(_missing(one, request)) or list(_faults(one, request)))
    return PinnedPatchSet(patches=one, request=request)


def check_for_one_project(sets: Iterable[PatchSet], asked: InitRequest) -> None:
    """Refuse options for one project if there are patches of several; raises `UsageError`."""
    projects = sorted({one.project for one in sets})
    given = [name for name, value in (("--repository", asked.repository), ("--package", asked.packages)) if value]
    if len(projects) > 1 and given:
        what = f"is of one project, and there are patches of {', '.join(projects)}"
        fix, options = "import one at a time", (("--only", projects[0]),)
        raise UsageError(Problem(where=", ".join(given), what=what, fix=fix, options=options))


def _request(one: PatchSet, ledger: Ledger | None, asked: InitRequest, root: Path) -> InitRequest:
    version = ledger.version(one.project, one.revision) if ledger else None
    revision = version.revision if version else one.revision
    if version and ledger and _contradicts(revision, one.revision):
        what = f"says that {one.name} is for {revision}, and its folder names another commit"
        where = f"{ledger.file}:{version.line}"
        raise UsageError(Problem(where=where, what=what, fix="correct the summary, or rename the folder"))
    known = readable(root, one.project)
    same = next((one for one in known if _ID.fullmatch(revision) and one.pin.commit.startswith(revision)), None)
    base = same or next(iter(known), None)
    packages = tuple((path, base.pin.import_name(path)) for path in base.pin.packages) if base else ()
    request = replace(
        asked,
        name=one.project,
        repository=asked.repository or (base.pin.repository if base else ""),
        suffix=asked.suffix or (base.suffix if base else ""),
        packages=asked.packages or packages,
        not_built=asked.not_built or (same.not_built if same else ()),
    )
    if same and same.pin.commit:
        return replace(request, commit=same.pin.commit)
    if _ID.fullmatch(revision) and len(revision) < _DIGITS:
        return replace(request, commit=_whole(one, revision, request))
    return _by_name(request, revision)


def _contradicts(revision: str, folder: str) -> bool:
    """Return whether two names are ids of commits, whole or not, and of different ones."""
    are_ids = _ID.fullmatch(revision) and _ID.fullmatch(folder)
    return bool(are_ids) and not (revision.startswith(folder) or folder.startswith(revision))


def _whole(one: PatchSet, revision: str, request: InitRequest) -> str:
    """Return the whole id of a commit whose first digits name a folder; raises `OverlayError`."""
    clone = request.choice.clone(one.project)
    if not (request.repository or clone):
        return revision
    step(f"{one.name}: looking for the commit")
    pin = Pin(project=one.project, repository=request.repository, packages=())
    cache = acquisition.cache_root().absolute()
    return history(pin, [revision], clone=clone, cache=cache, progress=step)[1][revision]


def _by_name(request: InitRequest, revision: str) -> InitRequest:
    """Return a request for a commit or a tag, or where the name is a version, for a release."""
    bare = revision.removeprefix("v")
    is_release = "." in bare and version_of(bare) is not None
    if is_release and (bare == revision or not request.repository):
        return replace(request, release=bare, repository="")
    return replace(request, commit=revision)


def _faults(one: PatchSet, request: InitRequest) -> Iterator[Problem]:
    """Yield the mistakes of a request; those that come from the folder's name are reported for the folder."""
    for problem in faults(request):
        named = problem.where in ("PROJECT", "--commit", "--release")
        yield replace(problem, where=one.name) if named else problem


def _missing(one: PatchSet, request: InitRequest) -> Iterator[Problem]:
    if not request.suffix:
        yield Problem(where="--suffix", what="is missing", fix=SUFFIX, options=(("--suffix", "acme"),))
    if request.commit and not request.repository:
        what, fix = "is a commit, and no repository of it is known", "name its repository, for one project at a time"
        options = (("--repository", "URL"), ("--only", one.project))
        yield Problem(where=one.name, what=what, fix=fix, options=options)
