"""HTML pages of an index: ``index.html``, which every plain file server gives for a folder (PEP 503)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from html.parser import HTMLParser
from typing import TypeAlias
from urllib.parse import unquote, urljoin, urlsplit

from npu_overlays.publish.simple_pages import SIZED, FileLink, ProjectPage, check_api_version

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
{tags}
    <title>{title}</title>
  </head>
  <body>
    <h1>{title}</h1>
{anchors}
  </body>
</html>
"""
# Installers before and after PEP 714 look for the one or the other name.
_METADATA = ("data-core-metadata", "data-dist-info-metadata")
_KNOWN = {"href", "data-requires-python", "data-yanked", *_METADATA}
_VERSION, _TRACKS, _LOCATIONS = "pypi:repository-version", "pypi:tracks", "pypi:alternate-locations"
_TITLES = {"title", "h1"}
MetaTag: TypeAlias = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class HtmlPage:
    """The parts of a page."""

    # text and attributes of every link, with addresses that a base changes written out
    anchors: tuple[tuple[str, Mapping[str, str]], ...]
    tags: tuple[MetaTag, ...]  # names and values of its meta tags, without the version of the standard
    other_text: str  # text outside of links and titles, which no index has


def render(page: ProjectPage) -> bytes:
    """Return the page of a project."""
    tags = [(_VERSION, page.api_version)]
    for name, addresses in ((_TRACKS, page.tracks), (_LOCATIONS, page.alternate_locations)):
        for address in addresses:
            tags.append((name, address))
    anchors = {link.filename: _attributes(link) for link in page.ordered}
    return _rendered(f"Links for {page.project}", [*tags, *page.tags], anchors.items())


def render_root(projects: Mapping[str, Mapping[str, str]], tags: Iterable[MetaTag]) -> bytes:
    """Return the page that lists all projects, with the attributes of the link of each, and further meta tags."""
    return _rendered("Simple index", [(_VERSION, SIZED), *tags], sorted(projects.items()))


def _rendered(title: str, tags: Iterable[MetaTag], anchors: Iterable[tuple[str, Mapping[str, str]]]) -> bytes:
    metas, lines = [], []
    for name, value in tags:
        metas.append(f'    <meta name="{escape(name)}" content="{escape(value)}">')
    for text, attributes in anchors:
        shown = " ".join(f'{name}="{escape(value)}"' for name, value in attributes.items())
        lines.append(f"    <a {shown}>{escape(text)}</a><br>")
    return _PAGE.format(title=escape(title), tags="\n".join(metas), anchors="\n".join(lines)).encode()


def _attributes(link: FileLink) -> dict[str, str]:
    found = {"href": link.url}
    if link.hashes:
        algorithm = "sha256" if "sha256" in link.hashes else min(link.hashes)
        found["href"] += f"#{algorithm}={link.hashes[algorithm]}"
    if link.requires_python:
        found["data-requires-python"] = link.requires_python
    if link.core_metadata:
        digest = "true"
        if not isinstance(link.core_metadata, bool):
            algorithm, value = min(link.core_metadata.items())
            digest = f"{algorithm}={value}"
        found |= dict.fromkeys(_METADATA, digest)
    if link.yanked is not None:
        found["data-yanked"] = link.yanked
    for name, value in link.attributes.items():
        found.setdefault(name, value)
    return found


def parse(page: HtmlPage, project: str) -> ProjectPage:
    """Return the page of a project."""
    addresses: dict[str, list[str]] = {_TRACKS: [], _LOCATIONS: []}
    tags = []
    for name, value in page.tags:
        if name in addresses:
            addresses[name].append(value)
        else:
            tags.append((name, value))
    return ProjectPage(
        project=project,
        links=tuple(_link(text, attributes) for text, attributes in page.anchors),
        tracks=tuple(addresses[_TRACKS]),
        alternate_locations=tuple(addresses[_LOCATIONS]),
        tags=tuple(tags),
    )


def _link(text: str, attributes: Mapping[str, str]) -> FileLink:
    url, _, fragment = attributes["href"].partition("#")
    algorithm, _, digest = fragment.partition("=")
    metadata = attributes.get(_METADATA[0], attributes.get(_METADATA[1]))
    name, _, value = (metadata or "").partition("=")
    return FileLink(
        filename=text or unquote(urlsplit(url).path.rpartition("/")[2]),
        url=url,
        hashes={algorithm: digest} if digest else {},
        requires_python=attributes.get("data-requires-python", ""),
        core_metadata={name: value} if value else metadata is not None,
        yanked=attributes.get("data-yanked"),
        attributes={name: value for name, value in attributes.items() if name not in _KNOWN},
    )


def read(text: str) -> HtmlPage:
    """Return the parts of a page; raises `ValueError` if it is of another standard."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    tags = []
    for name, content in reader.tags:
        if name == _VERSION:
            check_api_version(content)
        else:
            tags.append((name, content))
    other_text = " ".join("".join(reader.other_text).split())
    return HtmlPage(anchors=tuple(reader.anchors), tags=tuple(tags), other_text=other_text)


class _Reader(HTMLParser):
    """Collects links, meta tags, and other text."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: list[tuple[str, dict[str, str]]] = []
        self.tags: list[MetaTag] = []
        self.other_text: list[str] = []
        self._base = ""
        self._open: dict[str, str] | None = None
        self._title = ""
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "base":
            self._base = self._base or attributes.get("href", "")
        if tag == "meta" and attributes.get("name"):
            self.tags.append((attributes["name"], attributes.get("content", "")))
        if tag in _TITLES:
            self._title = tag
        if tag == "a" and attributes.get("href"):
            href = attributes["href"]
            self._open = {**attributes, "href": urljoin(self._base, href) if self._base else href}
            self._text = ""

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._text += data
        elif not self._title:
            self.other_text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == self._title:
            self._title = ""
        if tag == "a" and self._open is not None:
            self.anchors.append((self._text.strip(), self._open))
            self._open = None
