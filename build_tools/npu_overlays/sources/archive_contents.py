"""Archive contents: bytes of a wheel or sdist → its files under their repository paths, and its own metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from npu_overlays.errors import Problem, SourceError, listing
from npu_overlays.paths import faults
from npu_overlays.sources.archive_files import ArchiveError, ArchiveMember, place_of, read_archive
from npu_overlays.sources.tree import is_licence

# Shipped folders of the repository, and the folder of upstream's wheel that holds each.
Homes = tuple[tuple[str, str], ...]
_REQUIRED = ("METADATA", "WHEEL")
_SPECIAL = (*_REQUIRED, "entry_points.txt")


@dataclass(frozen=True, kw_only=True)
class Unpacked:
    """What an archive holds."""

    files: dict[str, ArchiveMember]  # its files by repository path
    metadata: str  # text of ``METADATA`` or ``PKG-INFO``
    entry_points: str = ""  # text of a wheel's ``entry_points.txt``
    wheel: str = ""  # text of a wheel's ``WHEEL`` file
    beside: tuple[str, ...] = ()  # what a wheel installs beside the shipped packages
    # its bills of materials by file name, that of a folder with dashes for slashes
    sboms: Mapping[str, bytes] = field(default_factory=dict)
    # those of its licence files that would lie among the shipped files, by their names in its metadata
    licences: Mapping[str, bytes] = field(default_factory=dict)


def read(archive: bytes, name: str, homes: Homes, *, alone: bool = False) -> Unpacked:
    """Return what an archive holds, under repository paths.

    Args:
        archive: its bytes.
        name: its file name, which says whether it is a wheel.
        homes: the shipped folders of the repository, and the folder of a wheel that holds each.
        alone: whether no commit is pinned, whose licence files may lie among the shipped ones.

    Raises:
        SourceError: it is truncated, has unsafe paths or links, or lacks the packages.
    """
    try:
        members = read_archive(archive, name)
        _refuse([member.path for member in members])
        found = _sort_wheel(name, members, homes, alone=alone) if name.endswith(".whl") else _sort_sdist(members)
    except ArchiveError as error:
        problem = Problem(where=name, what=str(error), fix="pin another archive, or use git")
        raise SourceError(problem) from error
    if not any(_is_below(path, top) for path in found.files for top, _ in homes):
        what = f"holds none of the shipped packages: {listing([path for path, _ in homes])}"
        raise SourceError(Problem(where=name, what=what, fix=_held(members, wheel=name.endswith(".whl"))))
    return found


def _is_below(path: str, top: str) -> bool:
    """Return whether a path is a folder or file, or lies in that folder."""
    return f"{path}/".startswith(f"{top}/")


def list_files(archive: bytes, name: str) -> dict[str, bytes]:
    """Return the files that a wheel installs, or those in an sdist's one folder.

    Raises:
        SourceError: it cannot be read, or holds what cannot be unpacked.
    """
    found: dict[str, bytes] = {}
    try:
        members = read_archive(archive, name)
        _refuse([member.path for member in members])
        if name.endswith(".whl"):
            own = _info_folder(name, members)
            for member in members:
                if not member.path.startswith(f"{own}/"):
                    found[place_of(member.path)] = member.content
        else:
            for path, member in _sort_sdist(members).files.items():
                found[path] = member.content
    except ArchiveError as error:
        raise SourceError(Problem(where=name, what=str(error), fix="pin another release")) from error
    return found


def _refuse(paths: Iterable[str]) -> None:
    wrong = faults(paths)
    if wrong:
        raise ArchiveError(f"holds paths that cannot be unpacked: {listing(wrong)}")


def _held(members: list[ArchiveMember], *, wheel: bool) -> str:
    """Return what to do, given the archive's actual content: an sdist has everything one folder deeper."""
    modules: list[str] = []
    for member in members:
        path = member.path if wheel else member.path.partition("/")[2]
        if path.endswith(".py"):
            modules.append(path)
    folders = {path.rpartition("/")[0] for path in modules} - {""}
    if tops := sorted(folder for folder in folders if folder.count("/") <= 1):
        return f"name a folder that it has: {listing(tops)}"
    if modules:
        return f"name a module that it has: {listing(modules)}"
    return "it has no Python module, so there is nothing to overlay: pin another archive"


def _sort_wheel(name: str, members: list[ArchiveMember], homes: Homes, *, alone: bool) -> Unpacked:
    own = f"{_info_folder(name, members)}/"
    info: dict[str, ArchiveMember] = {}
    beside: list[str] = []
    files: list[tuple[str, ArchiveMember]] = []
    for member in members:
        if member.path.startswith(own):
            info[member.path.removeprefix(own)] = member
        place = place_of(member.path)
        if path := _repository_path(place, homes):
            files.append((path, member))
        elif not place.startswith(own):
            beside.append(place)
    shipped = {path: member.content for path, member in files}
    apart: dict[str, bytes] = {}
    for path, member in _licences(info).items():
        if shipped.get(path) == member.content:
            continue  # some wheels install the very same file beside their packages as well
        if alone and any(_is_below(path, top) for top, _ in homes):
            apart[path] = member.content
        else:
            files.append((path, member))
    special = {name: info[name].text() for name in _SPECIAL if name in info}
    _refuse([path for path, _ in files])
    for required in _REQUIRED:
        if required not in special:
            raise ArchiveError(f"has no {required}")
    return Unpacked(
        files=dict(files),
        metadata=special["METADATA"],
        entry_points=special.get("entry_points.txt", ""),
        wheel=special["WHEEL"],
        beside=tuple(beside),
        sboms={path.replace("/", "-"): member.content for path, member in _below("sboms", info).items()},
        licences=dict(sorted(apart.items())),
    )


def _licences(info: Mapping[str, ArchiveMember]) -> dict[str, ArchiveMember]:
    """Return the licence files in a wheel's metadata folder; older wheels have no separate folder for them."""
    found = {path: member for path, member in info.items() if is_licence(path)}
    return found | _below("licenses", info)


def _below(folder: str, info: Mapping[str, ArchiveMember]) -> dict[str, ArchiveMember]:
    return {path.removeprefix(f"{folder}/"): one for path, one in info.items() if path.startswith(f"{folder}/")}


def _info_folder(name: str, members: list[ArchiveMember]) -> str:
    """Return the metadata folder of the wheel's own distribution."""
    try:
        wanted = parse_wheel_filename(name)[:2]
    except InvalidWheelFilename as error:
        raise ArchiveError(str(error)) from error
    tops = {member.path.partition("/")[0] for member in members}
    infos = sorted(top for top in tops if top.endswith(".dist-info"))
    found = [top for top in infos if _distribution(top) == wanted]
    if len(found) != 1:
        held = listing(found or infos) or "no metadata folder"
        raise ArchiveError(f"has {held} instead of one metadata folder of its own")
    return found[0]


def _distribution(folder: str) -> tuple[str, Version] | None:
    name, _, version = folder.removesuffix(".dist-info").rpartition("-")
    try:
        return canonicalize_name(name), Version(version)
    except InvalidVersion:
        return None


def _repository_path(place: str, homes: Homes) -> str:
    for path, home in homes:
        if _is_below(place, home):
            return path + place[len(home) :]
    return ""


def _sort_sdist(members: list[ArchiveMember]) -> Unpacked:
    files: dict[str, ArchiveMember] = {}
    tops: set[str] = set()
    for member in members:
        top, _, path = member.path.partition("/")
        tops.add(top)
        files[path] = member
    if len(tops) != 1:
        raise ArchiveError(f"an sdist has one top folder, this has {listing(sorted(tops)) or 'none'}")
    info = files.pop("PKG-INFO", None)
    metadata = info.text() if info else None
    _refuse(files)
    if metadata is None:
        raise ArchiveError("has no PKG-INFO")
    return Unpacked(files=files, metadata=metadata)
