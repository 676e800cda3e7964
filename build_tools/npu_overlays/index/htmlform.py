"""The HTML form of pages: ``index.html``, which every plain file server gives for a folder (PEP 503)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

from npu_overlays.index.pages import SIZED, Link, Page

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="pypi:repository-version" content="{version}">
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


def render(page: Page) -> bytes:
    """Return the page of a project."""
    anchors = [(link.filename, _attributes(link)) for link in page.ordered]
    return _rendered(f"Links for {page.project}", page.api_version, anchors)


def render_root(projects: Mapping[str, Mapping[str, str]]) -> bytes:
    """Return the page that lists all projects, with the attributes of each link."""
    return _rendered("Simple index", SIZED, sorted(projects.items()))


def _rendered(title: str, version: str, anchors: Iterable[tuple[str, Mapping[str, str]]]) -> bytes:
    lines = [_anchor(text, attributes) for text, attributes in anchors]
    return _PAGE.format(title=escape(title), version=version, anchors="\n".join(lines)).encode()


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


def parse(text: str, project: str) -> Page:
    """Return what a page says."""
    links = [_link(text, attributes) for text, attributes in anchors(text)]
    return Page(project=project, links=tuple(links))


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


def anchors(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return the text and the attributes of every link of a page, those a base stands for written out."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.found


class _Reader(HTMLParser):
    """Collects links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self._base = ""
        self._open: dict[str, str] | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "base":
            self._base = self._base or attributes.get("href", "")
        if tag == "a" and attributes.get("href"):
            href = attributes["href"]
            self._open = {**attributes, "href": urljoin(self._base, href) if self._base else href}
            self._text = ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._open is not None:
            self.found.append((self._text.strip(), self._open))
            self._open = None
