"""The HTML form of pages: ``index.html``, which every plain file server gives for a folder (PEP 503)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from html.parser import HTMLParser
from typing import TypeAlias
from urllib.parse import unquote, urljoin, urlsplit

from npu_overlays.index.pages import SIZED, Link, Page, understood

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
Tag: TypeAlias = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Markup:
    """What a page is made of.

    Args:
        anchors: text and attributes of every link, those a base stands for written out.
        tags: names and values of what it says of itself, but for the version of the standard.
        beyond: what else it shows, which no index says; its title is not meant.
    """

    anchors: tuple[tuple[str, Mapping[str, str]], ...]
    tags: tuple[Tag, ...]
    beyond: str


def render(page: Page) -> bytes:
    """Return the page of a project."""
    anchors = [(link.filename, _attributes(link)) for link in page.ordered]
    listed = {_TRACKS: page.tracks, _LOCATIONS: page.alternate_locations}
    tags = [(_VERSION, page.api_version), *((name, one) for name, values in listed.items() for one in values)]
    return _rendered(f"Links for {page.project}", [*tags, *page.tags], anchors)


def render_root(projects: Mapping[str, Mapping[str, str]], tags: Iterable[Tag]) -> bytes:
    """Return the page that lists all projects, with the attributes of each link, and what it says of itself."""
    return _rendered("Simple index", [(_VERSION, SIZED), *tags], sorted(projects.items()))


def _rendered(title: str, tags: Iterable[Tag], anchors: Iterable[tuple[str, Mapping[str, str]]]) -> bytes:
    metas = [f'    <meta name="{escape(name)}" content="{escape(value)}">' for name, value in tags]
    lines = [_anchor(text, attributes) for text, attributes in anchors]
    return _PAGE.format(title=escape(title), tags="\n".join(metas), anchors="\n".join(lines)).encode()


def _anchor(text: str, attributes: Mapping[str, str]) -> str:
    said = " ".join(f'{name}="{escape(value)}"' for name, value in attributes.items())
    return f"    <a {said}>{escape(text)}</a><br>"


def _attributes(link: Link) -> dict[str, str]:
    algorithm = next(iter(sorted(link.hashes, key=lambda name: name != "sha256")), "")
    found = {"href": f"{link.url}#{algorithm}={link.hashes[algorithm]}" if algorithm else link.url}
    if link.requires_python:
        found["data-requires-python"] = link.requires_python
    if link.core_metadata:
        digests = {} if isinstance(link.core_metadata, bool) else link.core_metadata
        said = next((f"{name}={digest}" for name, digest in sorted(digests.items())), "true")
        found |= dict.fromkeys(_METADATA, said)
    if link.yanked is not None:
        found["data-yanked"] = link.yanked
    return {**found, **{name: value for name, value in link.attributes.items() if name not in found}}


def parse(markup: Markup, project: str) -> Page:
    """Return what a page says."""
    return Page(
        project=project,
        links=tuple(_link(text, attributes) for text, attributes in markup.anchors),
        tracks=tuple(value for name, value in markup.tags if name == _TRACKS),
        alternate_locations=tuple(value for name, value in markup.tags if name == _LOCATIONS),
        tags=tuple(tag for tag in markup.tags if tag[0] not in {_TRACKS, _LOCATIONS}),
    )


def _link(text: str, attributes: Mapping[str, str]) -> Link:
    url, _, fragment = attributes["href"].partition("#")
    algorithm, _, digest = fragment.partition("=")
    metadata = next((attributes[name] for name in _METADATA if name in attributes), None)
    name, _, said = (metadata or "").partition("=")
    return Link(
        filename=text or unquote(urlsplit(url).path.rpartition("/")[2]),
        url=url,
        hashes={algorithm: digest} if digest else {},
        requires_python=attributes.get("data-requires-python", ""),
        core_metadata={name: said} if said else metadata is not None,
        yanked=attributes.get("data-yanked"),
        attributes={name: value for name, value in attributes.items() if name not in _KNOWN},
    )


def read(text: str) -> Markup:
    """Return what a page is made of; raises `ValueError` where it is of another standard."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    for name, content in reader.tags:
        if name == _VERSION:
            understood(content)
    tags = tuple(tag for tag in reader.tags if tag[0] != _VERSION)
    return Markup(anchors=tuple(reader.anchors), tags=tags, beyond=" ".join("".join(reader.beyond).split()))


class _Reader(HTMLParser):
    """Collects links, what a page says of itself, and what else it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: list[tuple[str, dict[str, str]]] = []
        self.tags: list[Tag] = []
        self.beyond: list[str] = []
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
            self.beyond.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == self._title:
            self._title = ""
        if tag == "a" and self._open is not None:
            self.anchors.append((self._text.strip(), self._open))
            self._open = None
