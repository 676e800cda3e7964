"""Updating: folders of wheels and sdists, and an index, perhaps an empty one → the index with them, or as it was."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from npu_overlays.errors import OutputError, OverlayError, Problem
from npu_overlays.index.companions import lacking, yanked
from npu_overlays.index.distributions import Candidate, candidates, digest, read
from npu_overlays.index.marks import Mark, marked, yanked_versions
from npu_overlays.index.pages import Link, Page
from npu_overlays.index.pinning import Pinning, Shelf, pinnings
from npu_overlays.index.placing import copy, listed_at, locked, move, unchanged
from npu_overlays.index.standing import METADATA, STATEMENT, has_metadata, is_given_out, is_outdated, untruths
from npu_overlays.index.stored import Root, Stored, files_of, read_page, read_root
from npu_overlays.progress import step
from npu_overlays.reproducible import writing
from npu_overlays.scratch import scratch


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to become of an index.

    Args:
        folders: of what is to be on it.
        out: the folder of the index.
        marks: versions that are not to be chosen any more, or are to be again.
        replace: whether files may get other bytes than those that the index gave out under their names.
    """

    folders: tuple[Path, ...]
    out: Path
    marks: tuple[Mark, ...] = ()
    replace: bool = False


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


@dataclass(kw_only=True)
class _Project:
    """A project as it is brought up to date.

    Args:
        place: where it lies.
        stored: its page as it was.
        at: when that was changed.
        listed: its files by their names.
        yanked: versions none of whose files is to be chosen, and why.
        new: what comes onto it.
    """

    place: Path
    stored: Stored
    at: int
    listed: dict[str, Link]
    yanked: dict[Version, str]
    new: list[Link] = field(default_factory=list)


@dataclass(kw_only=True)
class _Update:
    """An update as it is put together: pages in memory, files in a folder beside their places."""

    request: Request
    folder: Path
    root: Root = field(default_factory=Root)
    projects: dict[str, _Project] = field(default_factory=dict)
    added: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def out(self) -> Path:
        """The folder of the index."""
        return self.request.out


def update(request: Request) -> Updated:
    """Bring an index up to date; what others wrote in its folder stays as it is.

    Raises:
        OutputError: with all mistakes of all files, in which case nothing was written; or it cannot be written.
    """
    with writing(request.out, option="--out"):
        request.out.mkdir(parents=True, exist_ok=True)
        with locked(request.out), scratch(request.out) as folder:
            made = _Update(request=request, folder=folder)
            found = candidates(request.folders, made.problems)
            _open_pages(made, {*(one.project for one in found), *(mark.project for mark in request.marks)})
            for one in found:
                _add(made, one)
            pages = {name: _page(made, name) for name in sorted(made.projects)}
            pages = marked(pages, request.marks, made.problems)
            shelf = Shelf(out=made.out, versions=lambda name: _versions(made, pages, name), replace=request.replace)
            statements = _statements(made, found, pages)
            pinned = pinnings(request.folders, shelf, made.problems)
            warnings = (*lacking(found, shelf.versions), *yanked(request.marks))
            if made.problems:
                raise OutputError(made.problems)
            _stage_pages(made, pages)
            for file, project in statements:
                _copy_beside(made, file, project.place, project.at)
            for pinning in pinned:
                _stage(made, pinning.name, pinning.after.encode())
            outdated = _outdated(made)
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


def _open_pages(made: _Update, projects: set[str]) -> None:
    """Read the page of all projects, and those of some."""
    for project in sorted(projects):
        place, stored = made.out / project, Stored(page=Page(project=project))
        with _noting(made.problems):
            stored = read_page(place)
        listed, yanked = stored.page.by_name, yanked_versions(stored.page)
        made.projects[project] = _Project(place=place, stored=stored, at=listed_at(place), listed=listed, yanked=yanked)
    with _noting(made.problems):
        made.root = read_root(made.out)


@contextmanager
def _noting(problems: list[Problem]) -> Iterator[None]:
    try:
        yield
    except OverlayError as error:
        problems += error.problems


def _add(made: _Update, one: Candidate) -> None:
    """Put a file on the page of its project, unless it is there as it is."""
    project = made.projects[one.project]
    listed, place = project.listed.get(one.name), project.place / one.name
    if listed and listed.beside and unchanged(one.file, place, project.at) and has_metadata(listed, place):
        return
    step(f"reading {one.name}")
    staged = made.folder / one.project / one.name
    with _noting(made.problems):
        sha256 = copy(one.file, staged)
        found = read(staged, one, sha256)
        same = is_given_out(staged, listed, place)
        if not same and not made.request.replace:
            raise OutputError(_other_bytes(one, made.out))
        if same and listed and not listed.beside:
            staged.unlink()  # it is given out from elsewhere, and stays so
            return
        link = _marked_as_before(found.link, listed, project, same=same)
        project.new.append(link)
        if found.metadata:
            staged.with_name(one.name + METADATA).write_bytes(found.metadata)
        # It is written again with its new time, so that it need not be read the next time.
        if not (link == listed and _lies_there(place, sha256) and has_metadata(link, place)):
            made.added.append(one.name)


def _lies_there(place: Path, sha256: str) -> bool:
    return place.is_file() and digest(place) == sha256


def _marked_as_before(link: Link, listed: Link | None, project: _Project, *, same: bool) -> Link:
    """Return what is said of a file, with what others said of these bytes or, where it is new, of its version."""
    if listed is None:
        return replace(link, yanked=project.yanked.get(link.version) if link.version else None)
    marked = replace(link, yanked=listed.yanked)
    return replace(marked, more=listed.more, attributes=listed.attributes) if same else marked


def _other_bytes(one: Candidate, out: Path) -> Problem:
    what = f"{out} has another file under this name, and gave it out: whoever noted its digest would be refused"
    fix = "raise the overlay's revision and build again, or say --replace where nobody has taken it yet"
    return Problem(where=str(one.file), what=what, fix=fix)


def _page(made: _Update, name: str) -> Page:
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


def _versions(made: _Update, pages: Mapping[str, Page], name: str) -> Collection[Version]:
    """Return the versions of a project that the index is to hold, also where nothing of it is given."""
    project = canonicalize_name(name)
    if page := pages.get(project):
        return {link.version for link in page.links if link.version}
    place, page = made.out / project, Page(project=project)
    with _noting(made.problems):
        page = read_page(place).page
    there = (link for link in page.links if not link.beside or (place / link.filename).is_file())
    return {link.version for link in there if link.version}


def _stage_pages(made: _Update, pages: Mapping[str, Page]) -> None:
    """Write the pages of which something changed: also where only a file did, so that none is younger than its page."""
    for page in pages.values():
        stored, changed = made.projects[page.project].stored, (made.folder / page.project).is_dir()
        if stored.settled and page == stored.page and not changed:
            continue
        for name, content in files_of(page).items():
            _stage(made, f"{page.project}/{name}", content, changed=changed)
    for name, content in made.root.listing(set(pages)).files.items():
        _stage(made, name, content)


def _stage(made: _Update, path: str, content: bytes, *, changed: bool = False) -> None:
    there = made.out / path
    if changed or not (there.is_file() and there.read_bytes() == content):
        (made.folder / path).parent.mkdir(exist_ok=True)
        (made.folder / path).write_bytes(content)


def _statements(made: _Update, found: Sequence[Candidate], pages: Mapping[str, Page]) -> list[tuple[Path, _Project]]:
    """Return the statements of wheels, which are wanted beside them, and whose they are."""
    digests = {link.filename: link.hashes.get("sha256", "") for page in pages.values() for link in page.links}
    digests = {name: sha256 for name, sha256 in digests.items() if sha256}
    projects = {one.file: made.projects[one.project] for one in found}
    files = (file for folder in made.request.folders for file in sorted(folder.glob(f"*{STATEMENT}")))
    wheels = {file: file.with_name(f"{file.name.removesuffix(STATEMENT)}.whl") for file in files}
    given = [(file, projects[wheel]) for file, wheel in wheels.items() if wheel in projects]
    made.problems += [problem for file, _ in given for problem in untruths(file, digests)]
    return given


def _copy_beside(made: _Update, file: Path, place: Path, listed: int) -> None:
    if not unchanged(file, place / file.name, listed):
        copy(file, made.folder / place.relative_to(made.out) / file.name)


def _outdated(made: _Update) -> list[Path]:
    """Return the statements that would be false, which none is given in place of."""
    new = [(project.place, link) for project in made.projects.values() for link in project.new]
    # A statement names the companion, too, which lies with another project.
    beside = (place / f"{link.filename.removesuffix('.whl')}{STATEMENT}" for place, link in new)
    found = made.out.glob(f"*/*{STATEMENT}") if made.request.replace else beside
    digests = {link.filename: link.hashes["sha256"] for _, link in new}
    staged = made.folder.glob(f"*/*{STATEMENT}")
    given = {made.out / file.relative_to(made.folder) for file in staged}
    return sorted(file for file in found if file not in given and is_outdated(file, digests))
