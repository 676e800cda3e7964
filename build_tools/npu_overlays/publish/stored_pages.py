"""Stored pages: the folder of an index → its pages, each merged from both of its forms, from any author."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import shorten
from typing import Any, TypeVar

from packaging.utils import canonicalize_name

from npu_overlays.errors import OutputError, Problem
from npu_overlays.publish import html_pages, json_pages
from npu_overlays.publish.simple_pages import ProjectPage

HTML, JSON = "index.html", "index.json"
ParsedT = TypeVar("ParsedT")


@dataclass(frozen=True, kw_only=True)
class StoredPage:
    """The page of a project in a folder."""

    page: ProjectPage  # what both forms say together
    complete: bool = False  # whether each form says all of it, so that an unchanged page need not be written


@dataclass(frozen=True, kw_only=True)
class RootPage:
    """The page of all projects."""

    # by the name shown, the attributes of the link to its page
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    projects: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by name, further keys of the JSON page
    meta: Mapping[str, Any] = field(default_factory=dict)  # the ``meta`` of the JSON page
    tags: tuple[html_pages.MetaTag, ...] = ()  # names and values of the meta tags of the HTML page

    def with_projects(self, names: set[str]) -> RootPage:
        """Return the page with further projects."""
        links, projects = dict(self.links), dict(self.projects)
        for name in names - set(map(canonicalize_name, links)):
            links[name] = {"href": f"{name}/"}
        for name in names - set(map(canonicalize_name, projects)):
            projects[name] = {}
        return replace(self, links=links, projects=projects)

    @property
    def files(self) -> dict[str, bytes]:
        """Its two forms by the names of their files."""
        html = html_pages.render_root(self.links, self.tags)
        return {HTML: html, JSON: json_pages.render_root(self.projects, self.meta)}


def files_of(page: ProjectPage) -> dict[str, bytes]:
    """Return both forms of the page of a project by the names of their files."""
    return {HTML: html_pages.render(page), JSON: json_pages.render(page)}


def read_page(folder: Path) -> StoredPage:
    """Return the page of a project; raises `OutputError` if one of its forms cannot be parsed.

    A yank that a person wrote into one form alone counts in both.
    """
    page = ProjectPage(project=folder.name)
    json_text, html_text = _text(folder / JSON), _text(folder / HTML)
    if json_text:
        page = _parsed(folder / JSON, lambda: json_pages.parse(json_text, folder.name))
        page = page.with_links()  # each file once
    if json_text and html_text.encode() == html_pages.render(page):  # to parse it would take three times as long
        return StoredPage(page=page, complete=json_pages.equals(json_text, page))
    if html_text:
        page = _merged(page, html_pages.parse(_html_page(folder / HTML, html_text), folder.name))
    return StoredPage(page=page)


def _merged(json: ProjectPage, html: ProjectPage) -> ProjectPage:
    """Return the JSON form of a page with what the HTML form has beside it."""
    links = json.by_name
    for link in html.links:
        known = links.get(link.filename)
        if known:
            yanked = link.yanked if known.yanked is None else known.yanked
            link = replace(known, yanked=yanked, attributes=link.attributes)  # noqa: PLW2901  # both forms of one link
        links[link.filename] = link
    return replace(
        json,
        links=tuple(links.values()),
        tracks=tuple(dict.fromkeys([*json.tracks, *html.tracks])),
        alternate_locations=tuple(dict.fromkeys([*json.alternate_locations, *html.alternate_locations])),
        tags=html.tags,
    )


def read_root(folder: Path) -> RootPage:
    """Return the page of all projects; raises `OutputError` if it cannot be parsed."""
    html = _html_page(folder / HTML, _text(folder / HTML))
    links = {text or attributes["href"]: attributes for text, attributes in html.anchors}
    text = _text(folder / JSON)
    projects, meta = _parsed(folder / JSON, lambda: json_pages.parse_root(text)) if text else ({}, {})
    return RootPage(links=links, projects=projects, meta=meta, tags=html.tags)


def _html_page(file: Path, text: str) -> html_pages.HtmlPage:
    """Return the parts of an HTML page; raises `OutputError` if it is of another standard or has other text."""
    page = _parsed(file, lambda: html_pages.read(text))
    if page.other_text:
        what = f"shows more than the links of an index, which would be lost: {shorten(page.other_text, 60)!r}"
        fix = "take out what is no link, or move it away; or write the index into a folder of its own with --out"
        raise OutputError(Problem(where=str(file), what=what, fix=fix))
    return page


def _text(file: Path) -> str:
    """Return the text of a page, or an empty text."""
    try:
        return file.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, error) from error


def _parsed(file: Path, parse: Callable[[], ParsedT]) -> ParsedT:
    try:
        return parse()
    except (ValueError, KeyError, TypeError) as error:
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: Exception) -> OutputError:
    what = f"cannot be read as a page of an index: {type(error).__name__}: {error}"
    return OutputError(Problem(where=str(file), what=what, fix="correct it, or move it away: it is written anew"))
