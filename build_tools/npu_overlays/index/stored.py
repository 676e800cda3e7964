"""Stored: the pages that lie in a folder → what both of their forms say, whoever wrote them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import shorten
from typing import Any, TypeVar

from packaging.utils import canonicalize_name

from npu_overlays.errors import OutputError, Problem
from npu_overlays.index import htmlform, jsonform
from npu_overlays.index.pages import Link, Page

HTML, JSON = "index.html", "index.json"
ReadT = TypeVar("ReadT")


@dataclass(frozen=True, kw_only=True)
class Stored:
    """The page of a project, as it lies there.

    Args:
        page: what it says.
        settled: whether each form says all of that, so that neither need be written while it stays so.
    """

    page: Page
    settled: bool = False


@dataclass(frozen=True, kw_only=True)
class Root:
    """The page of all projects.

    Args:
        links: by the name shown, the attributes of the link to its page.
        projects: by name, what the JSON page says of it.
        meta: what the JSON page says of itself.
        tags: what the HTML page says of itself, names and values.
    """

    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    projects: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[htmlform.Tag, ...] = ()

    def listing(self, names: set[str]) -> Root:
        """Return the page with further projects."""
        linked = {canonicalize_name(name) for name in self.links}
        told = {canonicalize_name(name) for name in self.projects}
        return replace(
            self,
            links={**self.links, **{name: {"href": f"{name}/"} for name in names - linked}},
            projects={**self.projects, **{name: {} for name in names - told}},
        )

    @property
    def files(self) -> dict[str, bytes]:
        """Its two forms by the names of their files."""
        shown = htmlform.render_root(self.links, self.tags)
        return {HTML: shown, JSON: jsonform.render_root(self.projects, self.meta)}


def files_of(page: Page) -> dict[str, bytes]:
    """Return both forms of the page of a project by the names of their files."""
    return {HTML: htmlform.render(page), JSON: jsonform.render(page)}


def read_page(folder: Path) -> Stored:
    """Return what is said of a project, in whichever form; raises `OutputError` where that cannot be understood.

    A mark that a person set in one form alone counts in both.
    """
    page = Page(project=folder.name)
    said, shown = _text(folder / JSON), _text(folder / HTML)
    if said:
        page = _understood(folder / JSON, lambda: jsonform.parse(said, folder.name))
        page = page.having()  # a file once
    if said and shown.encode() == htmlform.render(page):  # to read it would take three times as long, and tell nothing
        return Stored(page=page, settled=jsonform.says(said, page))
    if shown:
        page = _merged(page, htmlform.parse(_markup(folder / HTML, shown), folder.name))
    return Stored(page=page)


def _merged(said: Page, shown: Page) -> Page:
    known = said.by_name
    return replace(
        said.having(*(_both(known.get(one.filename), one) for one in shown.links)),
        tracks=tuple(dict.fromkeys([*said.tracks, *shown.tracks])),
        alternate_locations=tuple(dict.fromkeys([*said.alternate_locations, *shown.alternate_locations])),
        tags=shown.tags,
    )


def _both(said: Link | None, shown: Link) -> Link:
    if said is None:
        return shown
    return replace(said, yanked=shown.yanked if said.yanked is None else said.yanked, attributes=shown.attributes)


def read_root(folder: Path) -> Root:
    """Return the page of all projects; raises `OutputError` where it cannot be understood."""
    markup = _markup(folder / HTML, _text(folder / HTML))
    links = {text or attributes["href"]: attributes for text, attributes in markup.anchors}
    text = _text(folder / JSON)
    projects, meta = _understood(folder / JSON, lambda: jsonform.parse_root(text)) if text else ({}, {})
    return Root(links=links, projects=projects, meta=meta, tags=markup.tags)


def _markup(file: Path, text: str) -> htmlform.Markup:
    """Return what an HTML page is made of; raises `OutputError` where it is of another standard or shows more."""
    markup = _understood(file, lambda: htmlform.read(text))
    if markup.beyond:
        what = f"shows more than the links of an index, which would be lost: {shorten(markup.beyond, 60)!r}"
        fix = "take out what is no link, or move it away; or write the index into a folder of its own with --out"
        raise OutputError(Problem(where=str(file), what=what, fix=fix))
    return markup


def _text(file: Path) -> str:
    """Return the text of a page, empty where there is none."""
    try:
        return file.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise _unread(file, error) from error


def _understood(file: Path, parse: Callable[[], ReadT]) -> ReadT:
    try:
        return parse()
    except (ValueError, KeyError, TypeError) as error:
        raise _unread(file, error) from error


def _unread(file: Path, error: Exception) -> OutputError:
    what = f"cannot be read as a page of an index: {type(error).__name__}: {error}"
    return OutputError(Problem(where=str(file), what=what, fix="correct it, or move it away: it is written anew"))
