"""Releases: a project's name → its newest release, or the one that is asked for, as the user's indexes have it."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag, sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from npu_overlays.errors import Problem, SourceError
from npu_overlays.pin import Archive
from npu_overlays.source.archive import keep
from npu_overlays.source.cache import Progress
from npu_overlays.source.download import FIX, explained, failures, fetched, noted
from npu_overlays.source.index import Index, indexes

if TYPE_CHECKING:
    from unearth import Link

_PURE = Tag("py3", "none", "any")
_SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class _File:
    """One file of a release: which, of what version, where it is had, and how well it suits; less is better."""

    version: Version
    index: Index
    link: Link
    rank: int


def find_release(project: str, version: str, *, cache: Path, progress: Progress) -> tuple[Archive, bytes]:
    """Return an archive of a release that can be pinned, and its bytes, which the cache has afterwards.

    A wheel for any platform is best, then one for this platform, then an sdist.

    Args:
        project: upstream's distribution name.
        version: of the release; empty for the newest that this Python can run, a final one where there is one.
        cache: the cache folder.
        progress: told which index is asked, and how far it is.

    Raises:
        SourceError: no index answers, or none has that release in a form that can be pinned.
        OutputError: the cache cannot be written.
    """
    with indexes(project) as places:
        files: list[_File] = []
        answers: list[str] = []
        for index in places:
            progress(f"{project}: looking for releases in {index.shown}")
            try:
                with noted() as notes:
                    files += _files(index, project)
            except failures() as error:
                answers.append(f"{index.shown}: {explained(error)}")
                continue
            answers.append(f"{index.shown}: {'; '.join(dict.fromkeys(notes)) or 'has no such project'}")
        chosen = _chosen(files, version)
        if chosen is None:
            raise SourceError(_problem(project, version, files, answers))
        return _had(project, chosen, cache, progress)


def _files(index: Index, project: str) -> Iterator[_File]:
    ranks = {tag: number for number, tag in enumerate(sys_tags(), 1)}
    for found in index.finder.find_all_packages(project, allow_yanked=True):
        rank = _rank(found.link.filename, ranks)
        if found.version and rank is not None:
            yield _File(version=Version(found.version), index=index, link=found.link, rank=rank)


def _rank(file: str, ranks: dict[Tag, int]) -> int | None:
    """Return how well a file suits, or None where it cannot be pinned here."""
    if file.endswith((".tar.gz", ".zip")):
        return len(ranks) + 1
    try:
        tags = parse_wheel_filename(file)[3]
    except (InvalidWheelFilename, InvalidVersion):
        return None
    return 0 if _PURE in tags else min((ranks[tag] for tag in tags if tag in ranks), default=None)


def _chosen(files: Iterable[_File], version: str) -> _File | None:
    fits = [one for one in files if (one.version == Version(version) if version else _is_offered(one))]
    final = [one for one in fits if not one.version.is_prerelease]
    newest = max((one.version for one in final or fits), default=None)
    return min((one for one in fits if one.version == newest), key=lambda one: one.rank, default=None)


def _is_offered(file: _File) -> bool:
    """Return whether an installer would take a file where nothing but the name is asked for."""
    try:
        wanted = SpecifierSet(file.link.requires_python or "")
    except InvalidSpecifier:
        return False
    return not file.link.is_yanked and wanted.contains(platform.python_version(), prereleases=True)


def _had(project: str, file: _File, cache: Path, progress: Progress) -> tuple[Archive, bytes]:
    name, link = file.link.filename, file.link
    archive = Archive(distribution=project, version=str(file.version), file=name, sha256="")
    try:
        content = fetched(file.index, link, archive, progress)
    except failures() as error:
        where = f"{project} {file.version}"
        raise SourceError(Problem(where=where, what=f"{file.index.shown}: {explained(error)}", fix=FIX)) from error
    digest = hashlib.sha256(content).hexdigest()
    listed = (link.hash_option or {}).get("sha256", [digest])
    if digest not in listed:
        what = f"{file.index.shown} lists sha256 {', '.join(listed)}, but gave {digest}"
        raise SourceError(Problem(where=name, what=what, fix="use an index with upstream's own file"))
    keep(content, digest, cache)
    return Archive(distribution=project, version=str(file.version), file=name, sha256=digest), content


def _problem(project: str, version: str, files: list[_File], answers: list[str]) -> Problem:
    where = f"{project} {version}".rstrip()
    if files and version:
        known = list(
            dict.fromkeys(str(one.version) for one in sorted(files, key=lambda one: one.version, reverse=True))
        )
        more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
        what = "there is no such release that could be pinned"
        return Problem(where=where, what=what, fix=f"one of: {', '.join(known[:_SHOWN])}{more}")
    if files:
        what = f"no release is for Python {platform.python_version()}"
        return Problem(where=where, what=what, fix="run this with a Python that it is for, or name one: --release")
    what = "; ".join(answers) or "pip is told to use no index and no folder (no-index)"
    return Problem(where=where, what=what, fix=FIX)
