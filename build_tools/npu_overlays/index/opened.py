"""Opened: what is to become of an index → its pages as they are, and what comes onto them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import Version

from npu_overlays.errors import OverlayError, Problem
from npu_overlays.index.marks import Mark, yanked_versions
from npu_overlays.index.pages import Link, Page
from npu_overlays.index.placing import listed_at
from npu_overlays.index.stored import Root, Stored, read_page, read_root


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


@dataclass(kw_only=True)
class Project:
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
class Update:
    """An update as it is put together: pages in memory, files in a folder beside their places."""

    request: Request
    folder: Path
    root: Root = field(default_factory=Root)
    projects: dict[str, Project] = field(default_factory=dict)
    added: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def out(self) -> Path:
        """The folder of the index."""
        return self.request.out


def open_pages(made: Update, projects: set[str]) -> None:
    """Read the page that lists all projects, and the pages of some."""
    for project in sorted(projects):
        place, stored = made.out / project, Stored(page=Page(project=project))
        with noting(made.problems):
            stored = read_page(place)
        listed, yanked = stored.page.by_name, yanked_versions(stored.page)
        made.projects[project] = Project(place=place, stored=stored, at=listed_at(place), listed=listed, yanked=yanked)
    with noting(made.problems):
        made.root = read_root(made.out)


@contextmanager
def noting(problems: list[Problem]) -> Iterator[None]:
    """Note the mistakes that the block raises, instead of ending with them."""
    try:
        yield
    except OverlayError as error:
        problems += error.problems
