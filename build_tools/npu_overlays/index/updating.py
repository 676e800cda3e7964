"""Updating: folders of wheels and sdists, and an index, perhaps an empty one → the index with them, or as it was."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from npu_overlays.errors import OutputError
from npu_overlays.index import statements
from npu_overlays.index.adding import add
from npu_overlays.index.companions import lacking, yanked
from npu_overlays.index.distributions import candidates
from npu_overlays.index.marks import marked
from npu_overlays.index.opened import Request, Update, noting, open_pages
from npu_overlays.index.pages import Page
from npu_overlays.index.pinning import Pinning, Shelf, pinnings
from npu_overlays.index.placing import copy, locked, move, unchanged
from npu_overlays.index.standing import METADATA
from npu_overlays.index.stored import files_of, read_page
from npu_overlays.reproducible import writing
from npu_overlays.scratch import scratch


@dataclass(frozen=True, kw_only=True)
class Updated:
    """What became of an index.

    Args:
        projects: normalized names of those that were looked at.
        added: names of files that are new, or new by their bytes.
        unchanged: how many were there already.
        dropped: names of files that were listed and are not there any more.
        removed: names of statements of other bytes than lie there now.
        pinnings: what became of the constraints of stacks that some were given of.
        warnings: why wheels of ours cannot be installed from it.
    """

    projects: tuple[str, ...]
    added: tuple[str, ...]
    unchanged: int
    dropped: tuple[str, ...]
    removed: tuple[str, ...]
    pinnings: tuple[Pinning, ...]
    warnings: tuple[str, ...]


def update(request: Request) -> Updated:
    """Bring an index up to date; what others wrote in its folder stays as it is.

    Raises:
        OutputError: with all mistakes of all files, in which case nothing was written; or it cannot be written.
    """
    with writing(request.out, option="--out"):
        request.out.mkdir(parents=True, exist_ok=True)
        with locked(request.out), scratch(request.out) as folder:
            made = Update(request=request, folder=folder)
            found = candidates(request.folders, made.problems)
            open_pages(made, {*(one.project for one in found), *(mark.project for mark in request.marks)})
            for one in found:
                add(made, one)
            pages = {name: _page(made, name) for name in sorted(made.projects)}
            pages = marked(pages, request.marks, made.problems)
            shelf = Shelf(out=made.out, versions=lambda name: _versions(made, pages, name), replace=request.replace)
            given = statements.given(made, found, pages)
            pinned = pinnings(request.folders, shelf, made.problems)
            warnings = (*lacking(found, shelf.versions), *yanked(request.marks))
            if made.problems:
                raise OutputError(made.problems)
            _stage_pages(made, pages)
            for file, project in given:
                _copy_beside(made, file, project.place, project.at)
            for pinning in pinned:
                _stage(made, pinning.name, pinning.after.encode())
            outdated = statements.outdated(made)
            move(folder, request.out, outdated)
    return Updated(
        projects=tuple(pages),
        added=tuple(made.added),
        unchanged=len(found) - len(made.added),
        dropped=tuple(made.dropped),
        removed=tuple(file.name for file in outdated),
        pinnings=pinned,
        warnings=warnings,
    )


def _page(made: Update, name: str) -> Page:
    """Return the new page of a project, without what is listed as lying beside it and does not any more."""
    project = made.projects[name]
    page = project.stored.page.having(*project.new)
    places = (project.place, made.folder / name)
    there = {file.name for place in places if place.is_dir() for file in place.iterdir()}
    beside = {link.filename: link for link in page.links if link.beside}
    gone = beside.keys() - there
    promised = [link for link in beside.values() if link.core_metadata and link.filename in there]
    bare = [link for link in promised if link.filename + METADATA not in there]
    made.dropped += sorted([*gone, *(link.filename + METADATA for link in bare)])
    page = page.having(*(replace(link, core_metadata=False) for link in bare))
    return replace(page, links=tuple(one for one in page.links if one.filename not in gone))


def _versions(made: Update, pages: Mapping[str, Page], name: str) -> Collection[Version]:
    """Return the versions of a project that the index is to hold, also where nothing of it is given."""
    project = canonicalize_name(name)
    if page := pages.get(project):
        return {link.version for link in page.links if link.version}
    place, page = made.out / project, Page(project=project)
    with noting(made.problems):
        page = read_page(place).page
    there = (link for link in page.links if not link.beside or (place / link.filename).is_file())
    return {link.version for link in there if link.version}


def _stage_pages(made: Update, pages: Mapping[str, Page]) -> None:
    """Write the pages of which something changed: also where only a file did, so that none is younger than its page."""
    for page in pages.values():
        stored, changed = made.projects[page.project].stored, (made.folder / page.project).is_dir()
        if stored.settled and page == stored.page and not changed:
            continue
        for name, content in files_of(page).items():
            _stage(made, f"{page.project}/{name}", content, changed=changed)
    for name, content in made.root.listing(set(pages)).files.items():
        _stage(made, name, content)


def _stage(made: Update, path: str, content: bytes, *, changed: bool = False) -> None:
    there = made.out / path
    if changed or not (there.is_file() and there.read_bytes() == content):
        (made.folder / path).parent.mkdir(exist_ok=True)
        (made.folder / path).write_bytes(content)


def _copy_beside(made: Update, file: Path, place: Path, listed: int) -> None:
    if not unchanged(file, place / file.name, listed):
        copy(file, made.folder / place.relative_to(made.out) / file.name)
