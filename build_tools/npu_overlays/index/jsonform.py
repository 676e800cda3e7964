"""The JSON form of pages: ``index.json``, for servers that can choose by what the client accepts (PEP 691)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from npu_overlays.index.pages import PLAIN, SIZED, Link, Page, understood
from npu_overlays.reproducible import canonical_json

_KNOWN = {"filename", "url", "hashes", "size", "requires-python", "core-metadata", "yanked"}
_LOCATIONS = "alternate-locations"
_OF_PAGE = {"meta", "name", "versions", "files", _LOCATIONS}


def render(page: Page) -> bytes:
    """Return the page of a project."""
    return canonical_json(_value(page))


def says(text: str, page: Page) -> bool:
    """Return whether a text that was understood is the page of a project, however it is laid out."""
    return bool(json.loads(text) == _value(page))


def _value(page: Page) -> dict[str, Any]:
    value = {
        **page.more,
        "meta": {**page.meta, "api-version": page.api_version, **_listed("tracks", page.tracks)},
        "name": page.project,
        "files": [_file(link) for link in page.ordered],
        **_listed(_LOCATIONS, page.alternate_locations),
    }
    return {**value, "versions": list(page.versions)} if page.api_version != "1.0" else value


def _listed(name: str, values: tuple[str, ...]) -> dict[str, list[str]]:
    return {name: list(values)} if values else {}


def _file(link: Link) -> dict[str, Any]:
    optional = {
        "size": link.size,
        "requires-python": link.requires_python or None,
        "core-metadata": link.core_metadata if isinstance(link.core_metadata, bool) else dict(link.core_metadata),
        "yanked": None if link.yanked is None else link.yanked or True,
    }
    said = {name: value for name, value in optional.items() if value is not None and value is not False}
    return {**link.more, "filename": link.filename, "url": link.url, "hashes": dict(link.hashes), **said}


def parse(text: str, project: str) -> Page:
    """Return what a page says; raises `ValueError` where it is not one."""
    value = _object(json.loads(text))
    meta = _meta(value)
    return Page(
        project=project,
        links=tuple(_link(_object(one)) for one in value["files"]),
        meta={name: content for name, content in meta.items() if name != "tracks"},
        tracks=_texts(meta.get("tracks", [])),
        alternate_locations=_texts(value.get(_LOCATIONS, [])),
        more={name: content for name, content in value.items() if name not in _OF_PAGE},
    )


def _link(value: Mapping[str, Any]) -> Link:
    metadata, yanked = value.get("core-metadata", False), value.get("yanked", False)
    return Link(
        filename=str(value["filename"]),
        url=str(value["url"]),
        hashes={str(name): str(digest) for name, digest in _object(value["hashes"]).items()},
        size=value.get("size"),
        requires_python=value.get("requires-python") or "",
        core_metadata=metadata if isinstance(metadata, bool) else _object(metadata),
        yanked=None if yanked is False else "" if yanked is True else str(yanked),
        more={name: content for name, content in value.items() if name not in _KNOWN},
    )


def render_root(projects: Mapping[str, Mapping[str, Any]], meta: Mapping[str, Any]) -> bytes:
    """Return the page that lists all projects, with what it said of each."""
    listed = [{"name": name, **said} for name, said in sorted(projects.items())]
    return canonical_json({"meta": {"api-version": SIZED, **meta}, "projects": listed})


def parse_root(text: str) -> tuple[dict[str, Mapping[str, Any]], Mapping[str, Any]]:
    """Return what the page of all projects says of each, and of itself; raises `ValueError` where it is not one."""
    value = _object(json.loads(text))
    return {str(one["name"]): _object(one) for one in value["projects"]}, _meta(value)


def _meta(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a page says of itself; raises `ValueError` where it is of another standard."""
    meta = _object(value["meta"])
    understood(meta.get("api-version", PLAIN))
    return meta


def _object(value: Any) -> dict[str, Any]:  # whatever JSON holds
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is no object")
    return value


def _texts(value: Any) -> tuple[str, ...]:  # likewise
    if not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
        raise TypeError(f"{value!r} is no list of texts")
    return tuple(value)
