"""Index update: an index, perhaps empty, and folders of wheels and sdists → the index with them, or unchanged."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from npu_overlays.errors import OutputError, OverlayError, Problem, collected
from npu_overlays.files import scratch, writing
from npu_overlays.progress import step
from npu_overlays.publish import availability, index_files
from npu_overlays.publish.availability import Yank
from npu_overlays.publish.distributions import DistributionFile, digest, find_distributions, read_distribution
from npu_overlays.publish.index_constraints import ConstraintsContext, ConstraintsUpdate, update_constraints
from npu_overlays.publish.simple_pages import FileLink, ProjectPage
from npu_overlays.publish.stored_pages import RootPage, StoredPage, files_of, read_page, read_root
from npu_overlays.wheels.statement import SUFFIX


@dataclass(frozen=True, kw_only=True)
class IndexRequest:
    """An update that a user asks for."""

    folders: tuple[Path, ...]  # of what is to be on the index
    out: Path  # the folder of the index
    yanks: tuple[Yank, ...] = ()  # versions to yank, or to take that back
    replace: bool = False  # whether files may get other bytes than those that the index gave out under their names


@dataclass(frozen=True, kw_only=True)
class UpdatedIndex:
    """The result of an update."""

    projects: tuple[str, ...]  # normalized names of the projects of all files and yanks
    added: tuple[str, ...]  # names of files that are new, or have new bytes
    unchanged: int  # how many files were there already
    dropped: tuple[str, ...]  # names of files that were listed and are not there any more
    removed: tuple[str, ...]  # names of statements whose wheels have other bytes now
    constraints: tuple[ConstraintsUpdate, ...]  # those of every stack that some were given of
    warnings: tuple[str, ...]  # why wheels of ours cannot be installed from it


@dataclass(kw_only=True)
class _Project:
    """A project on the index: its folder, its page, when that was changed, its files by name, and new links."""

    folder: Path
    stored: StoredPage
    changed_at: int
    listed: dict[str, FileLink]
    new: list[FileLink] = field(default_factory=list)


@dataclass(kw_only=True)
class _Update:
    """An update in progress: pages in memory, new files in a folder beside the index."""

    request: IndexRequest
    staging: Path
    root: RootPage = field(default_factory=RootPage)
    projects: dict[str, _Project] = field(default_factory=dict)
    added: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    refused: list[DistributionFile] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def out(self) -> Path:
        """The folder of the index."""
        return self.request.out


def update_index(request: IndexRequest) -> UpdatedIndex:
    """Bring an index up to date; what others wrote in its folder stays as it is.

    Raises:
        OutputError: with all mistakes of all files, in which case nothing was written; or it cannot be written.
    """
    with writing(request.out, option="--out"):
        request.out.mkdir(parents=True, exist_ok=True)
        with index_files.locked(request.out), scratch(request.out) as folder:
            return _updated(_Update(request=request, staging=folder))


def _updated(update: _Update) -> UpdatedIndex:
    """Make all new files and pages, and move them to their places unless something is wrong."""
    request = update.request
    given = find_distributions(request.folders, update.problems)
    pages = _new_pages(update, given)
    context = ConstraintsContext(
        out=update.out, versions=lambda name: _given_versions(update, pages, name), replace=request.replace
    )
    beside = _given_statements(update, given, pages)
    constraints = update_constraints(request.folders, context, update.problems)
    warnings = [*availability.wheels_without_companion(given, context.versions)]
    warnings += availability.yanked_companions(request.yanks)
    if update.problems:
        raise OutputError(update.problems)
    _stage_pages(update, pages)
    for statement, project in beside:
        if not index_files.is_unchanged(statement, project.folder / statement.name, project.changed_at):
            index_files.copy(statement, update.staging / project.folder.name / statement.name)
    for one in constraints:
        _stage(update, one.name, one.after.encode())
    outdated = _outdated_statements(update)
    index_files.move(update.staging, update.out, outdated)
    return UpdatedIndex(
        projects=tuple(pages),
        added=tuple(update.added),
        unchanged=len(given) - len(update.added),
        dropped=tuple(update.dropped),
        removed=tuple(file.name for file in outdated),
        constraints=constraints,
        warnings=tuple(warnings),
    )


def _new_pages(update: _Update, given: Sequence[DistributionFile]) -> dict[str, ProjectPage]:
    """Return the new pages of all projects of given files and yanks, by their names."""
    names = {one.project for one in given} | {yank.project for yank in update.request.yanks}
    _open_pages(update, names)
    for one in given:
        try:
            _add(update, one)
        except OverlayError as error:
            update.problems += error.problems
            update.refused.append(one)
    pages = {}
    for name in sorted(names):
        pages[name] = _new_page(update, name)
    return availability.with_yanks(pages, update.request.yanks, update.problems)


def _open_pages(update: _Update, projects: set[str]) -> None:
    """Read the page that lists all projects, and the pages of some."""
    for name in sorted(projects):
        folder, stored = update.out / name, StoredPage(page=ProjectPage(project=name))
        with collected(update.problems):
            stored = read_page(folder)
        update.projects[name] = _Project(
            folder=folder, stored=stored, changed_at=index_files.changed_at(folder), listed=stored.page.by_name
        )
    with collected(update.problems):
        update.root = read_root(update.out)


def _add(update: _Update, given: DistributionFile) -> None:
    """Put a file on the page of its project, unless it is there unchanged; raises `OutputError` if it must not."""
    project = update.projects[given.project]
    listed, place = project.listed.get(given.name), project.folder / given.name
    known = listed and listed.is_local and index_files.is_unchanged(given.file, place, project.changed_at)
    if listed and known and index_files.has_metadata(listed, place):
        return
    step(f"reading {given.name}")
    staged = update.staging / given.project / given.name
    sha256 = index_files.copy(given.file, staged)
    link, metadata = read_distribution(staged, given, sha256)
    published = index_files.is_published(staged, listed, place)
    if not published and not update.request.replace:
        raise OutputError(_other_bytes(given, update.out))
    if published and listed and not listed.is_local:
        staged.unlink()  # the index lists it elsewhere, and still does
        return
    link = _with_marks(link, listed, project, published=published)
    project.new.append(link)
    if metadata:
        staged.with_name(given.name + index_files.METADATA).write_bytes(metadata)
    # An equal file is written again with its new time, so that the next run need not read it.
    there = place.is_file() and digest(place) == sha256
    if not (link == listed and there and index_files.has_metadata(link, place)):
        update.added.append(given.name)


def _with_marks(link: FileLink, listed: FileLink | None, project: _Project, *, published: bool) -> FileLink:
    """Return a link with the yank of the one before, or of its version, and with further keys for the same bytes."""
    if listed is None:
        yanks = availability.yanked_versions(project.stored.page)
        return replace(link, yanked=yanks.get(link.version) if link.version else None)
    marked = replace(link, yanked=listed.yanked)
    return replace(marked, more=listed.more, attributes=listed.attributes) if published else marked


def _other_bytes(given: DistributionFile, out: Path) -> Problem:
    what = f"{out} has published another file under this name: installers that pinned its digest would refuse this one"
    fix = 'run `npu-overlays revise OVERLAY --why "…"` and build again; or, if nobody has installed it, add --replace'
    return Problem(where=str(given.file), what=what, fix=fix)


def _new_page(update: _Update, name: str) -> ProjectPage:
    """Return the new page of a project, without local files that are not there any more."""
    project = update.projects[name]
    page = project.stored.page.with_links(*project.new)
    there = set()
    for folder in (project.folder, update.staging / name):
        if folder.is_dir():
            there |= set(os.listdir(folder))  # noqa: PTH208  # names alone
    kept = []
    for link in page.links:
        if link.is_local and link.filename not in there:
            update.dropped.append(link.filename)
            continue
        metadata = link.filename + index_files.METADATA
        if link.is_local and link.core_metadata and metadata not in there:
            update.dropped.append(metadata)
            link = replace(link, core_metadata=False)  # noqa: PLW2901  # the same link, of a file without metadata
        kept.append(link)
    return replace(page, links=tuple(kept))


def _versions(update: _Update, pages: Mapping[str, ProjectPage], name: str) -> Collection[Version]:
    """Return the versions of a project that the index is to hold, also where nothing of it is given."""
    project = canonicalize_name(name)
    if project in pages:
        return pages[project].versions
    folder, page = update.out / project, ProjectPage(project=project)
    with collected(update.problems):
        page = read_page(folder).page
    available = [link for link in page.links if not link.is_local or (folder / link.filename).is_file()]
    return replace(page, links=tuple(available)).versions


def _given_versions(update: _Update, pages: Mapping[str, ProjectPage], name: str) -> Collection[Version]:
    """Return the versions of a project that the index is to hold, and those of given files that it refuses."""
    refused = [one.version for one in update.refused if one.project == canonicalize_name(name)]
    return {*_versions(update, pages, name), *refused}


def _given_statements(
    update: _Update, given: Sequence[DistributionFile], pages: Mapping[str, ProjectPage]
) -> list[tuple[Path, _Project]]:
    """Return the statements that lie beside given wheels, and the projects of these; mistakes are collected."""
    digests, refused = {}, {one.name for one in update.refused}
    for page in pages.values():
        for link in page.links:
            if "sha256" in link.hashes and link.filename not in refused:
                digests[link.filename] = link.hashes["sha256"]
    projects = {one.file: update.projects[one.project] for one in given}
    found = []
    for folder in update.request.folders:
        for statement in sorted(folder.glob(f"*{SUFFIX}")):
            project = projects.get(index_files.wheel_of(statement))
            if project:
                update.problems += index_files.statement_faults(statement, digests)
                found.append((statement, project))
    return found


def _outdated_statements(update: _Update) -> list[Path]:
    """Return the statements on the index that would be false then, and that none is given in place of."""
    digests, beside = {}, []
    for project in update.projects.values():
        for link in project.new:
            digests[link.filename] = link.hashes["sha256"]
            beside.append(project.folder / f"{link.filename.removesuffix('.whl')}{SUFFIX}")
    pattern = f"*/*{SUFFIX}"
    replaced = {update.out / file.relative_to(update.staging) for file in update.staging.glob(pattern)}
    # A statement names the companion, too, which lies with another project.
    found = set(update.out.glob(pattern) if update.request.replace else beside) - replaced
    return sorted(file for file in found if index_files.is_outdated(file, digests))


def _stage_pages(update: _Update, pages: Mapping[str, ProjectPage]) -> None:
    """Write the pages that changed or whose files did, so that no file is younger than its page."""
    for name, page in pages.items():
        stored, has_files = update.projects[name].stored, (update.staging / name).is_dir()
        if stored.complete and page == stored.page and not has_files:
            continue
        for form, content in files_of(page).items():
            _stage(update, f"{name}/{form}", content, always=has_files)
    for form, content in update.root.with_projects(set(pages)).files.items():
        _stage(update, form, content)


def _stage(update: _Update, path: str, content: bytes, *, always: bool = False) -> None:
    there = update.out / path
    if always or not (there.is_file() and there.read_bytes() == content):
        staged = update.staging / path
        staged.parent.mkdir(exist_ok=True)
        staged.write_bytes(content)
