"""Releases: a project's name → the files of its newest or a given release, on the user's indexes."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag, sys_tags
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from npu_overlays.errors import Problem, SourceError, listing
from npu_overlays.sources.cache import Progress, keep
from npu_overlays.sources.download import FIX, explained, failures, fetched, noted
from npu_overlays.sources.package_index import Index, indexes
from npu_overlays.sources.pin import Archive
from npu_overlays.sources.pinned_archives import cached, kept

if TYPE_CHECKING:
    from unearth import Link

_PURE = Tag("py3", "none", "any")
_SHOWN = 8
# As ranks go: what is for another machine comes last, and is pinned only by its name.
_ELSEWHERE = 1 << 32


@dataclass(frozen=True, kw_only=True)
class Release:
    """One file of a release, and the release's other files."""

    archive: Archive  # the file
    content: bytes  # its bytes
    preferred: str  # the name of the file that an installer would take here; empty where it would take none
    others: tuple[str, ...]  # the names of the other files


@dataclass(frozen=True, kw_only=True)
class _File:
    """One file of a release."""

    version: Version  # of the release
    index: Index  # the index that has it
    link: Link  # likewise
    tags: frozenset[Tag]  # for what it is; of an sdist nothing
    rank: tuple[int, ...]  # how early an installer takes it here; less is earlier, and `_ELSEWHERE` is never

    @property
    def name(self) -> str:
        """Its file name."""
        return self.link.filename

    @property
    def is_for_here(self) -> bool:
        """Whether an installer could use it here."""
        return self.rank[0] < _ELSEWHERE


def find_release(  # noqa: PLR0913  # each says another thing of what is looked for
    project: str, version: str, *, cache: Path, progress: Progress, file: str = "", like: str = ""
) -> Release:
    """Return a file of a release that can be pinned, and put it into the cache.

    A wheel for any platform is best, then one for this platform, then an sdist.

    Args:
        project: upstream's distribution name.
        version: of the release; empty for the newest that this Python can run, preferably a final one.
        cache: the cache folder.
        progress: called with the index in use, and the download's progress.
        file: name of the file; empty for the best.
        like: name of a file of another release: a wheel with the same tags is best; if it is compiled, compiled wheels
            are better than others.

    Raises:
        SourceError: no index answers, or none has that release in a form that can be pinned.
        OutputError: the cache cannot be written.
    """
    with indexes(project) as places:
        files, answers = _looked_up(project, places, progress)
        release = _release(files, version, file)
        offered = [one for one in release if one.is_for_here and _is_offered(one)]
        tags = _tags(like) or frozenset()
        if file:
            found = [one for one in release if one.name == file]
        elif version:
            found = [one for one in release if one.is_for_here or one.tags == tags]
        else:
            found = offered
        if not found:
            raise SourceError(_problem(project, version, files, answers, file=file))
        chosen = min(found, key=lambda one: _order(one, tags))
        archive, content = _had(project, chosen, cache, progress)
    preferred = min(offered, key=lambda one: one.rank, default=None)
    return Release(
        archive=archive,
        content=content,
        preferred=preferred.name if preferred else "",
        others=tuple(sorted({one.name for one in release} - {chosen.name})),
    )


def newer_releases(project: str, version: str, *, progress: Progress) -> list[str]:
    """Return the final releases newer than a version that installers accept here, oldest first.

    Raises:
        SourceError: no index answers, or none has the project.
    """
    with indexes(project) as places:
        files, answers = _looked_up(project, places, progress)
    offered = {one.version for one in files if one.is_for_here and _is_offered(one)}
    if not offered:
        raise SourceError(_problem(project, "", files, answers, file=""))
    return [str(one) for one in sorted(offered) if one > Version(version) and not one.is_prerelease]


def _looked_up(project: str, places: Iterable[Index], progress: Progress) -> tuple[list[_File], dict[str, str]]:
    """Return a project's files on the indexes, and each index's error, usually empty."""
    files: list[_File] = []
    answers: dict[str, str] = {}
    ranks = {tag: number for number, tag in enumerate(sys_tags())}
    for index in places:
        progress(f"{project}: looking for releases in {index.shown}")
        try:
            with noted() as notes:
                for package in index.finder.find_all_packages(project, allow_yanked=True):
                    tags = _tags(package.link.filename)
                    if package.version and tags is not None:
                        rank = _rank(package.link.filename, tags, ranks)
                        version = Version(package.version)
                        files.append(_File(version=version, index=index, link=package.link, tags=tags, rank=rank))
            answers[index.shown] = "; ".join(dict.fromkeys(notes))
        except failures() as error:
            answers[index.shown] = explained(error)
    return files, answers


def _tags(file: str) -> frozenset[Tag] | None:
    """Return the tags in a wheel's name, none for an sdist; None for any other name."""
    try:
        if file.endswith(".whl"):
            return parse_wheel_filename(file)[3]
        parse_sdist_filename(file)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
    return frozenset()


def _rank(file: str, tags: frozenset[Tag], ranks: dict[Tag, int]) -> tuple[int, ...]:
    """Return an installer's order of preference: by tags, then the latest build; an sdist last."""
    if not tags:
        return (len(ranks),)
    build = parse_wheel_filename(file)[2] or (0, "")
    return min(ranks.get(tag, _ELSEWHERE) for tag in tags), -build[0]


def _order(file: _File, like: frozenset[Tag]) -> tuple[bool, bool, tuple[int, ...]]:
    """Return a file's rank as a pin, lowest best: the given tags, then any platform, then an installer's order."""
    is_pure = _PURE in file.tags
    return not like or file.tags != like, is_pure == (bool(like) and _PURE not in like), file.rank


def _release(files: Iterable[_File], version: str, file: str) -> list[_File]:
    """Return the files of the requested or the newest release, each once."""
    every = {one.name: one for one in reversed([*files])}
    if file and not version:
        version = str(every[file].version) if file in every else ""
    if version:
        usable = [one for one in every.values() if one.version == Version(version)]
    else:
        usable = [one for one in every.values() if _is_offered(one) and one.is_for_here]
    final = [one for one in usable if not one.version.is_prerelease]
    newest = max((one.version for one in final or usable), default=None)
    return [one for one in every.values() if one.version == newest]


def _is_offered(file: _File) -> bool:
    """Return whether an installer would choose a file if only the project's name is given."""
    try:
        wanted = SpecifierSet(file.link.requires_python or "")
    except InvalidSpecifier:
        return False
    return not file.link.is_yanked and wanted.contains(platform.python_version(), prereleases=True)


def _had(project: str, file: _File, cache: Path, progress: Progress) -> tuple[Archive, bytes]:
    name, link = file.name, file.link
    listed = (link.hash_option or {}).get("sha256", [])
    archive = Archive(distribution=project, version=str(file.version), file=name, sha256="".join(listed[:1]))
    content = cached(archive, cache) if listed else None
    if content is not None:
        return archive, content
    try:
        content = fetched(file.index, link, archive, progress)
    except failures() as error:
        where = f"{project} {file.version}"
        raise SourceError(Problem(where=where, what=f"{file.index.shown}: {explained(error)}", fix=FIX)) from error
    digest = hashlib.sha256(content).hexdigest()
    if listed and digest not in listed:
        what = f"{file.index.shown} lists sha256 {', '.join(listed)}, but gave {digest}"
        raise SourceError(Problem(where=name, what=what, fix="use an index with upstream's own file"))
    keep(cache, kept(cache, digest), content)
    return replace(archive, sha256=digest), content


def _problem(project: str, version: str, files: list[_File], answers: dict[str, str], *, file: str) -> Problem:
    where = f"{project} {version}".rstrip()
    if file and files:
        names = sorted({one.name for one in _release(files, version, "")})
        near = listing(dict.fromkeys([*get_close_matches(file, names, _SHOWN, cutoff=0), *names]), _SHOWN)
        return Problem(where=file, what=f"no index has such a file of {where}", fix=f"name one of {near}")
    versions = sorted((one.version for one in files if one.is_for_here), reverse=True)
    if versions and version:
        what = "there is no such release that could be pinned"
        known = [*dict.fromkeys(map(str, versions))]
        more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
        return Problem(where=where, what=what, fix=f"name one of {', '.join(known[:_SHOWN])}{more}")
    if files:
        what = f"no release is for Python {platform.python_version()} on this machine"
        fix = "run this with a Python that it is for, or name another: --release, --archive"
        return Problem(where=where, what=what, fix=fix)
    if answers and not any(answers.values()):
        what = f"no index or folder of pip's configuration has a project of that name: {', '.join(answers)}"
        return Problem(where=where, what=what, fix=f"correct the name, or {FIX}")
    what = "; ".join(f"{shown}: {said or 'has no such project'}" for shown, said in answers.items())
    return Problem(where=where, what=what or "pip's configuration names no index and no folder (no-index)", fix=FIX)
