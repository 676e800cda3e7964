"""Pages: what an index says of a project, whichever of its two forms that is written in.

By PEP 503, 592, 629, 658, 691, 700, 708 and 714. When a file was uploaded is not
said: a folder does not know, and equal files are to give equal pages.
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

# Sizes and the list of versions came with 1.1: a page that lacks a size must not claim it. With 1.2 came other places.
TRACKED, SIZED, PLAIN = "1.2", "1.1", "1.0"


def understood(version: object) -> None:
    """Raise `ValueError` where a page keeps to a version of the standard that this tool would write over wrongly.

    By PEP 629 a higher minor version may be read, and another major version may not.
    """
    if not isinstance(version, str) or Version(version).major != Version(PLAIN).major:
        raise ValueError(f"version {version!r} of the standard is not known, only {Version(PLAIN).major}.x")


@dataclass(frozen=True, kw_only=True)
class Link:
    """One file of a project.

    Args:
        filename: its name.
        url: where it lies, relative to the page or absolute, without a fragment.
        hashes: hex digests by algorithm.
        size: in bytes; None where nobody said.
        requires_python: the Pythons it is for, or empty.
        core_metadata: whether its metadata lies beside it, or the digests of that file.
        yanked: why it is not to be chosen any more, perhaps empty; None where it may be.
        more: what else the JSON page says of it, which is kept.
        attributes: what else the HTML page says of it, likewise.
    """

    filename: str
    url: str
    hashes: Mapping[str, str] = field(default_factory=dict)
    size: int | None = None
    requires_python: str = ""
    core_metadata: bool | Mapping[str, str] = False
    yanked: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def beside(self) -> bool:
        """Whether the file is said to lie in the folder of the page, which is where this tool puts it."""
        return self.url == quote(self.filename)

    @property
    def version(self) -> Version | None:
        """The version its name says, if it says one."""
        named = identity(self.filename)
        return named[1] if named else None


@dataclass(frozen=True, kw_only=True)
class Page:
    """All files of a project.

    Args:
        project: its normalized name.
        links: the files.
        meta: what an earlier page says of itself.
        tracks: the projects elsewhere whose files these are said to be, too.
        alternate_locations: where else the project's files are said to lie.
        more: what else the JSON page says of the project, which is kept.
        tags: what else the HTML page says of it, names and values, likewise.
    """

    project: str
    links: tuple[Link, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    tracks: tuple[str, ...] = ()
    alternate_locations: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[tuple[str, str], ...] = ()

    @property
    def ordered(self) -> tuple[Link, ...]:
        """The files, oldest version first."""
        return tuple(sorted(self.links, key=lambda link: (link.version or Version("0.dev0"), link.filename)))

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions there are files of, oldest first."""
        return tuple(map(str, sorted({link.version for link in self.links if link.version})))

    @property
    def api_version(self) -> str:
        """The version of the standard that the page keeps to: never less than it did."""
        full = TRACKED if self.tracks or self.alternate_locations else SIZED
        own = full if all(link.size is not None for link in self.links) else PLAIN
        return max(own, str(self.meta.get("api-version", PLAIN)), key=Version)

    @property
    def by_name(self) -> dict[str, Link]:
        """The files by their names."""
        return {one.filename: one for one in self.links}

    def having(self, *links: Link) -> Page:
        """Return the page with some files, in place of those of the same names."""
        return replace(self, links=tuple({**self.by_name, **{one.filename: one for one in links}}.values()))

    def of_version(self, version: Version) -> list[Link]:
        """Return the files of a version."""
        return [link for link in self.links if link.version == version]


@cache
def identity(filename: str) -> tuple[str, Version, str] | None:
    """Return project, version and kind of a distribution by its file's name; None where that is none.

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
