"""Simple pages: the links of a project on an index, whichever of its two forms they are written in.

By PEP 503, 592, 629, 658, 691, 700, 708 and 714. Upload times are left out: a folder does not know them, and equal
files are to give equal pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any
from urllib.parse import quote

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

# Sizes and the list of versions came with 1.1: a page that lacks a size must not claim it. Tracks came with 1.2.
TRACKED, SIZED, PLAIN = "1.2", "1.1", "1.0"


def check_api_version(version: object) -> None:
    """Raise `ValueError` for a page of another major version of the standard, which this tool would overwrite wrongly.

    By PEP 629 a page of a higher minor version may be read.
    """
    if not isinstance(version, str) or Version(version).major != Version(PLAIN).major:
        raise ValueError(f"version {version!r} of the standard is not known, only {Version(PLAIN).major}.x")


@dataclass(frozen=True, kw_only=True)
class FileLink:
    """One file of a project."""

    filename: str  # its name
    url: str  # its address, relative to the page or absolute, without a fragment
    hashes: Mapping[str, str] = field(default_factory=dict)  # hex digests by algorithm
    size: int | None = None  # in bytes; None where the page does not give it
    requires_python: str = ""  # the Pythons it is for, or empty
    core_metadata: bool | Mapping[str, str] = False  # whether its metadata lies beside it, or the digests of that file
    yanked: str | None = None  # why installers should pass over it, perhaps empty; None where it is not yanked
    more: Mapping[str, Any] = field(default_factory=dict)  # other keys of the JSON page, which are kept
    attributes: Mapping[str, str] = field(default_factory=dict)  # other attributes of the HTML page, which are kept

    @property
    def is_local(self) -> bool:
        """Whether the link leads to the folder of the page, where this tool puts files."""
        return self.url == quote(self.filename)

    @property
    def version(self) -> Version | None:
        """The version in its name; None if the name is not that of a distribution."""
        identity = file_identity(self.filename)
        return identity[1] if identity else None


@dataclass(frozen=True, kw_only=True)
class ProjectPage:
    """All files of a project."""

    project: str  # its normalized name
    links: tuple[FileLink, ...] = ()  # the files
    meta: Mapping[str, Any] = field(default_factory=dict)  # the ``meta`` of an earlier JSON page
    tracks: tuple[str, ...] = ()  # addresses of the same project on other indexes (PEP 708)
    alternate_locations: tuple[str, ...] = ()  # addresses where other files of the project are (PEP 708)
    more: Mapping[str, Any] = field(default_factory=dict)  # other keys of the JSON page, which are kept
    tags: tuple[tuple[str, str], ...] = ()  # other tags of the HTML page, names and values, which are kept

    @property
    def ordered(self) -> tuple[FileLink, ...]:
        """The files, oldest version first."""
        return tuple(sorted(self.links, key=lambda link: (link.version or Version("0.dev0"), link.filename)))

    @property
    def versions(self) -> tuple[Version, ...]:
        """The versions of the files, oldest first."""
        return tuple(sorted({link.version for link in self.links if link.version}))

    @property
    def api_version(self) -> str:
        """The version of the standard that the page keeps to, never less than an earlier page did."""
        full = TRACKED if self.tracks or self.alternate_locations else SIZED
        own = full if all(link.size is not None for link in self.links) else PLAIN
        return max(own, str(self.meta.get("api-version", PLAIN)), key=Version)

    @property
    def by_name(self) -> dict[str, FileLink]:
        """The files by their names."""
        return {link.filename: link for link in self.links}

    def with_links(self, *links: FileLink) -> ProjectPage:
        """Return the page with some files, in place of those of the same names."""
        merged = self.by_name
        for link in links:
            merged[link.filename] = link
        return replace(self, links=tuple(merged.values()))


@cache
def file_identity(filename: str) -> tuple[str, Version, str] | None:
    """Return project, version and kind of a distribution by its file's name; None for another file.

    Two files of one identity are the same to an installer, however their names are spelled.
    """
    try:
        if filename.endswith(".whl"):
            name, version, build, tags = parse_wheel_filename(filename)
            return name, version, " ".join([*map(str, build), *sorted(map(str, tags))])
        if filename.endswith((".tar.gz", ".zip")):
            name, version = parse_sdist_filename(filename)
            return canonicalize_name(name), version, "sdist"
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        pass
    return None
