"""Alternatives: a release → how the file that is pinned differs from what pip takes here, and what others are for.

A release may have a wheel for any platform beside compiled ones. The first can be built for everywhere; what pip takes
is another program, as a rule a faster one, though nothing is patched in either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.tags import Tag
from packaging.utils import parse_wheel_filename

from npu_overlays.errors import listing
from npu_overlays.overlay.compiled import BINARY
from npu_overlays.progress import step
from npu_overlays.sources.archive_contents import list_files
from npu_overlays.sources.releases import Release, find_release

# What stands between the name of a system and a processor: the version of the system, or of its C library.
_VERSION = re.compile(r"(_?\d+)+_(?=[a-z])")
_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Alternatives:
    """The files of a release beside the pinned one."""

    preferred: str = ""  # the file that pip takes here; empty where that is the pinned one, or there is none
    more: tuple[str, ...] = ()  # the paths that it installs and the pinned one does not
    fewer: tuple[str, ...] = ()  # the paths that it lacks
    different: tuple[str, ...] = ()  # the paths of both whose bytes differ
    others: tuple[str, ...] = ()  # the names of all other files of the release


def alternatives(release: Release, files: Mapping[str, bytes], *, cache: Path) -> Alternatives:
    """Return the files of a release beside the pinned one, which installs `files`: contents by path.

    Raises `OverlayError` if the file that pip takes cannot be fetched.
    """
    archive, preferred = release.archive, release.preferred
    if preferred in ("", archive.file):
        return Alternatives(others=release.others)
    other = find_release(archive.distribution, archive.version, file=preferred, cache=cache, progress=step)
    theirs = list_files(other.content, preferred)
    shared = sorted(theirs.keys() & files.keys())
    return Alternatives(
        preferred=preferred,
        more=tuple(sorted(theirs.keys() - files.keys())),
        fewer=tuple(sorted(files.keys() - theirs.keys())),
        different=tuple(path for path in shared if theirs[path] != files[path]),
        others=release.others,
    )


def sentences(found: Alternatives) -> Iterator[str]:
    """Yield sentences about them for people."""
    if found.preferred:
        differences = {"also has": found.more, "lacks": found.fewer, "has other bytes in": found.different}
        listed = [f"{verb} {_kinds(paths)}" for verb, paths in differences.items() if paths]
        has = f", which {'; it '.join(listed)}" if listed else ""
        yield f"pip takes {found.preferred} here{has}; --archive {found.preferred} pins that"
    wheels = [name for name in found.others if name.endswith(".whl") and name != found.preferred]
    if wheels:
        count = "1 other wheel is" if len(wheels) == 1 else f"{len(wheels)} other wheels are"
        tags = frozenset[Tag]().union(*(parse_wheel_filename(name)[3] for name in wheels))
        # Those without a GIL are named with a ``t``; which version of a system a wheel is for does not matter here.
        pythons = sorted({f"{tag.interpreter}{'t' * tag.abi.endswith('t')}" for tag in tags}, key=_natural)
        platforms = sorted({_VERSION.sub(" ", tag.platform, count=1) for tag in tags})
        yield f"{count} for {', '.join(pythons)} on {', '.join(platforms)}"


def _kinds(paths: Iterable[str]) -> str:
    kinds: dict[str, list[str]] = {"compiled": [], "other": []}
    for path in paths:
        kinds["compiled" if BINARY.search(path) else "other"].append(path)
    texts: list[str] = []
    for kind, some in kinds.items():
        if some:
            files = "file" if len(some) == 1 else "files"
            texts.append(f"{len(some)} {kind} {files} ({listing(some, _SHOWN)})")
    return " and ".join(texts)


def _natural(name: str) -> tuple[str, int, str]:
    letters, digits, rest = re.findall(r"(\D*)(\d*)(.*)", name)[0]
    return letters, int(digits or 0), rest
