"""Release archives: a pinned wheel or sdist goes in, its files under their repository paths come out."""

from __future__ import annotations

import hashlib
from itertools import chain
from typing import TYPE_CHECKING

from npu_overlays.errors import Problem, SourceError
from npu_overlays.source import cache as caching
from npu_overlays.source import entry as entries
from npu_overlays.source.download import download
from npu_overlays.source.paths import faults, listing
from npu_overlays.source.unpack import Member, UnpackError, read_sdist, read_wheel
from npu_overlays.tree import Origin, SourceTree

if TYPE_CHECKING:
    from pathlib import Path

    from npu_overlays.pin import Archive, Pin
    from npu_overlays.source.cache import Progress

_SPECIAL = ("METADATA", "WHEEL", "entry_points.txt")


def acquire(pin: Pin, archive: Archive, *, cache: Path, progress: Progress) -> SourceTree:
    """Return the files of a pinned archive from the cache, downloading it first where it is not there.

    Args:
        pin: the pin, for the repository folders that a wheel's folders stand for.
        archive: one of the pin's archives.
        cache: the cache folder.
        progress: told what is being waited for.

    Raises:
        SourceError: the archive cannot be had, is not the pinned one, or cannot be built from.
        OutputError: the cache cannot be read or written.
    """
    folder = entry_folder(pin, archive, cache)
    found = entries.load_or_make(cache, folder, lambda: _make(pin, archive, cache, folder, progress), progress)
    origin = Origin(
        kind="archive", repository=pin.repository, commit=pin.commit, archive=archive.file, sha256=archive.sha256
    )
    return found.tree(origin)


def entry_folder(pin: Pin, archive: Archive, cache: Path) -> Path:
    """Return where the cache keeps the unpacked archive."""
    # One archive is unpacked anew for other packages: they decide its repository paths.
    digest = hashlib.sha256("\0".join((archive.sha256, *chain.from_iterable(pin.homes))).encode()).hexdigest()
    return cache / "archive" / f"{archive.distribution}-{archive.version}-{digest[:16]}"


def kept(cache: Path, sha256: str) -> Path:
    """Return where the cache keeps the archive file with this digest."""
    return cache / "archives" / sha256


def read(file: Path, name: str, homes: entries.Homes) -> tuple[list[entries.File], entries.Extras]:
    """Return what an archive holds, under repository paths.

    Args:
        file: the archive.
        name: its file name, which says whether it is a wheel.
        homes: the shipped folders of the repository, and the folder of a wheel that holds each.

    Raises:
        SourceError: it is truncated, holds unsafe paths, links or none of the packages.
    """
    try:
        members = (read_wheel if name.endswith(".whl") else read_sdist)(file)
        _refuse([member.path for member in members])
        sort = _sort_wheel if name.endswith(".whl") else _sort_sdist
        files, extras = sort(members, homes)
        _refuse([item.path for item in files])
    except UnpackError as error:
        problem = Problem(where=name, what=str(error), fix="pin another archive, or use git")
        raise SourceError(problem) from error
    lacking = [path for path, _ in homes if not any(item.path.startswith(f"{path}/") for item in files)]
    if len(lacking) == len(homes):
        what, fix = f"holds none of the shipped packages: {listing(lacking)}", f"it has: {listing(_tops(members))}"
        raise SourceError(Problem(where=name, what=what, fix=fix))
    return files, extras


def _make(pin: Pin, archive: Archive, cache: Path, folder: Path, progress: Progress) -> None:
    file = kept(cache, archive.sha256)
    if file.exists() and sha256_of(file) != archive.sha256:
        caching.discard(cache, file)
    if not file.exists():
        with caching.workspace(cache) as work:
            got = download(archive, work, progress)
            _check_digest(archive, got)
            caching.publish_file(got, file)
    files, extras = read(file, archive.file, pin.homes)
    with caching.workspace(cache) as work:
        entries.write(work / "entry", files, extras)
        caching.publish(work / "entry", folder)


def sha256_of(file: Path) -> str:
    """Return the hex SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _check_digest(archive: Archive, file: Path) -> None:
    digest = sha256_of(file)
    if digest != archive.sha256:
        raise SourceError(Problem(where=archive.file, what=f"sha256 {archive.sha256} is pinned, but got {digest}"))


def _refuse(paths: list[str]) -> None:
    wrong = faults(paths)
    if wrong:
        raise UnpackError(f"holds paths that cannot be unpacked: {listing(wrong)}")


def _tops(members: list[Member]) -> list[str]:
    folders = {member.path.rpartition("/")[0] for member in members if member.path.endswith(".py")}
    return sorted(folder for folder in folders if folder.count("/") <= 1) or ["no Python module"]


def _sort_wheel(members: list[Member], homes: entries.Homes) -> tuple[list[entries.File], entries.Extras]:
    special: dict[str, str] = {}
    files: list[entries.File] = []
    for member in members:
        top, _, rest = member.path.partition("/")
        if path := _repository_path(member.path, homes):
            files.append(member.file(path))
        elif top.endswith(".dist-info") and rest.startswith("licenses/"):
            files.append(member.file(rest.removeprefix("licenses/")))
        elif top.endswith(".dist-info"):
            special[rest] = member.text() if rest in _SPECIAL else ""
    return files, entries.Extras(
        metadata=_required(special, "METADATA"),
        entry_points=special.get("entry_points.txt", ""),
        wheel=_required(special, "WHEEL"),
        homes=homes,
    )


def _repository_path(place: str, homes: entries.Homes) -> str:
    return next((path + place[len(home) :] for path, home in homes if place.startswith(f"{home}/")), "")


def _sort_sdist(members: list[Member], homes: entries.Homes) -> tuple[list[entries.File], entries.Extras]:
    tops = {member.path.partition("/")[0] for member in members}
    if len(tops) != 1:
        raise UnpackError(f"an sdist has one top folder, this has {listing(sorted(tops)) or 'none'}")
    rest = {member.path.partition("/")[2]: member for member in members}
    texts = {path: member.text() for path, member in rest.items() if path == "PKG-INFO"}
    files = [member.file(path) for path, member in rest.items() if path != "PKG-INFO"]
    return files, entries.Extras(metadata=_required(texts, "PKG-INFO"), homes=homes)


def _required(texts: dict[str, str], name: str) -> str:
    if name not in texts:
        raise UnpackError(f"has no {name}")
    return texts[name]
