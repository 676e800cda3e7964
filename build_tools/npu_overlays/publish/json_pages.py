"""JSON pages of an index: ``index.json``, for servers that can choose by what the client accepts (PEP 691)."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from typing import Any

from npu_overlays.files import canonical_json
from npu_overlays.publish.simple_pages import PLAIN, SIZED, FileLink, ProjectPage, check_api_version

_FILE_KEYS = {"filename", "url", "hashes", "size", "requires-python", "core-metadata", "yanked"}
_LOCATIONS = "alternate-locations"
_PAGE_KEYS = {"meta", "name", "versions", "files", _LOCATIONS}


def render(page: ProjectPage) -> bytes:
    """Return the page of a project."""
    return canonical_json(_value(page))


def equals(text: str, page: ProjectPage) -> bool:
    """Return whether a text that was parsed is the page of a project, however it is laid out."""
    return bool(json.loads(text) == _value(page))


def _value(page: ProjectPage) -> dict[str, Any]:
    meta = {**page.meta, "api-version": page.api_version}
    if page.tracks:
        meta["tracks"] = list(page.tracks)
    value = {**page.more, "meta": meta, "name": page.project, "files": list(map(_file, page.ordered))}
    if page.alternate_locations:
        value[_LOCATIONS] = list(page.alternate_locations)
    if page.api_version != PLAIN:
        value["versions"] = list(map(str, page.versions))
    return value


def _file(link: FileLink) -> dict[str, Any]:
    value = {**link.more, "filename": link.filename, "url": link.url, "hashes": dict(link.hashes)}
    if link.size is not None:
        value["size"] = link.size
    if link.requires_python:
        value["requires-python"] = link.requires_python
    if isinstance(link.core_metadata, Mapping):
        value["core-metadata"] = dict(link.core_metadata)
    elif link.core_metadata:
        value["core-metadata"] = True
    if link.yanked is not None:
        value["yanked"] = link.yanked or True
    return value


def parse(text: str, project: str) -> ProjectPage:
    """Return the page of a project; raises `ValueError`, `TypeError` or `KeyError` for another text."""
    value = _object(json.loads(text))
    meta = _meta(value)
    return ProjectPage(
        project=project,
        links=tuple(map(_link, value["files"])),
        meta=_without(meta, {"tracks"}),
        tracks=_texts(meta.get("tracks", [])),
        alternate_locations=_texts(value.get(_LOCATIONS, [])),
        more=_without(value, _PAGE_KEYS),
    )


def _link(one: Any) -> FileLink:  # any JSON value
    value = _object(one)
    metadata, yanked = value.get("core-metadata", False), value.get("yanked", False)
    if isinstance(yanked, bool):
        yanked = "" if yanked else None
    return FileLink(
        filename=str(value["filename"]),
        url=str(value["url"]),
        hashes={str(name): str(digest) for name, digest in _object(value["hashes"]).items()},
        size=value.get("size"),
        requires_python=value.get("requires-python") or "",
        core_metadata=metadata if isinstance(metadata, bool) else _object(metadata),
        yanked=None if yanked is None else str(yanked),
        more=_without(value, _FILE_KEYS),
    )


def render_root(projects: Mapping[str, Mapping[str, Any]], meta: Mapping[str, Any]) -> bytes:
    """Return the page that lists all projects, with further keys of each and of its ``meta``."""
    listed = [{"name": name, **more} for name, more in sorted(projects.items())]
    return canonical_json({"meta": {"api-version": SIZED, **meta}, "projects": listed})


def parse_root(text: str) -> tuple[dict[str, Mapping[str, Any]], Mapping[str, Any]]:
    """Return the projects on the page that lists all, and its ``meta``; raises as `parse` does."""
    value = _object(json.loads(text))
    return {str(one["name"]): _object(one) for one in value["projects"]}, _meta(value)


def _meta(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``meta`` of a page; raises `ValueError` if it is of another standard."""
    meta = _object(value["meta"])
    check_api_version(meta.get("api-version", PLAIN))
    return meta


def _without(value: Mapping[str, Any], keys: Container[str]) -> dict[str, Any]:
    return {name: content for name, content in value.items() if name not in keys}


def _object(value: Any) -> dict[str, Any]:  # likewise
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is no object")
    return value


def _texts(value: Any) -> tuple[str, ...]:  # likewise
    if not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
        raise TypeError(f"{value!r} is no list of texts")
    return tuple(value)
