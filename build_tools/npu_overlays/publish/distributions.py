"""Distributions: folders of wheels and sdists → files for an index, and the link of each; broken ones are refused."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from packaging.metadata import RawMetadata, parse_email
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from npu_overlays.errors import OutputError, Problem
from npu_overlays.overlay.bounds import version_of
from npu_overlays.publish.simple_pages import FileLink, file_identity
from npu_overlays.sources.archive_files import ArchiveError, ArchiveMember, archive_members
from npu_overlays.wheels.archive_check import record_faults, recorded

_SUFFIXES = (".whl", ".tar.gz")
_CHUNK = 1 << 20
_FETCH_AGAIN = "build or fetch it again"
_SIGNATURES = ("RECORD.jws", "RECORD.p7s")  # of RECORD, which does not list them


@dataclass(frozen=True, kw_only=True)
class DistributionFile:
    """A wheel or sdist that was given, by its name alone."""

    file: Path  # where it lies
    project: str  # its normalized name
    version: Version  # the version in its name

    @property
    def name(self) -> str:
        """The file's name."""
        return self.file.name


def find_distributions(folders: Sequence[Path], problems: list[Problem]) -> list[DistributionFile]:
    """Return the wheels and sdists of some folders; mistakes are added to `problems`."""
    found: dict[tuple[str, Version, str], DistributionFile] = {}
    for folder in folders:
        for file in _listed(folder, problems):
            identity = file_identity(file.name)
            if identity is None:
                what = "its name is not that of a wheel or of a source distribution"
                fix = "give it the name it was built with, NAME-VERSION-… , or put it elsewhere"
                problems.append(Problem(where=str(file), what=what, fix=fix))
                continue
            one = DistributionFile(file=file, project=identity[0], version=identity[1])
            first = found.setdefault(identity, one)
            if first != one and not (first.name == one.name and digest(first.file) == digest(file)):
                what = f"to an installer it is the same as {first.file}, and is another file"
                problems.append(Problem(where=str(file), what=what, fix="leave one of them out"))
    return list(found.values())


def _listed(folder: Path, problems: list[Problem]) -> list[Path]:
    try:
        files = [file for file in folder.iterdir() if file.name.endswith(_SUFFIXES)]
    except OSError as error:
        fix = "name a folder of wheels or source distributions"
        problems.append(Problem(where=str(folder), what=f"cannot be listed: {error.strerror}", fix=fix))
        return []
    if not files:
        what, fix = "holds no wheel and no source distribution", "name the folder they were built into"
        problems.append(Problem(where=str(folder), what=what, fix=fix))
    return sorted(files, key=lambda file: file.name)


def read_distribution(file: Path, given: DistributionFile, sha256: str) -> tuple[FileLink, bytes]:
    """Read a distribution.

    Args:
        file: what is read, which may be a copy under the same name.
        given: where the user has it.
        sha256: of the file, hex.

    Returns:
        Its link, and the core metadata to put beside it, empty for an sdist.

    Raises:
        OutputError: it is broken, its RECORD does not fit its files, or its metadata contradict its name; names the
            user's file.
    """
    try:
        metadata, faults = _core_metadata(file)
        fields, _ = parse_email(metadata)
    except (ArchiveError, OSError) as error:
        raise OutputError(Problem(where=str(given.file), what=str(error), fix=_FETCH_AGAIN)) from error
    OutputError.raise_for(Problem(where=f"{given.file}: RECORD", what=what, fix=_FETCH_AGAIN) for what in faults)
    OutputError.raise_for(_mistakes(given, fields))
    beside = metadata if file.name.endswith(".whl") else b""
    link = FileLink(
        filename=file.name,
        url=quote(file.name),
        hashes={"sha256": sha256},
        size=file.stat().st_size,
        requires_python=fields.get("requires_python", ""),
        core_metadata={"sha256": hashlib.sha256(beside).hexdigest()} if beside else False,
    )
    return link, beside


def _core_metadata(file: Path) -> tuple[bytes, list[str]]:
    """Return the core metadata of a wheel or sdist, and why a wheel's RECORD does not fit its files.

    Raises:
        ArchiveError: it is broken, holds links, or no core metadata, or several.
        OSError: it cannot be read.
    """
    is_wheel = file.name.endswith(".whl")
    wanted = r"[^/]+\.dist-info/METADATA" if is_wheel else r"[^/]+/PKG-INFO"
    found: list[ArchiveMember] = []
    held: dict[str, list[str]] = {}
    records: dict[str, bytes] = {}
    for member in archive_members(file):
        held[member.path] = recorded(member.content)
        if member.path.endswith(".dist-info/RECORD"):
            records[member.path] = member.content
        if re.fullmatch(wanted, member.path):
            found.append(member)
    if len(found) != 1:
        raise ArchiveError(f"holds core metadata {len(found)} times" if found else "holds no core metadata")
    own = found[0].path.replace("METADATA", "RECORD")
    listed = {path: row for path, row in held.items() if not path.endswith(_SIGNATURES)}
    faults = list(record_faults(listed, own, records.get(own, b""))) if is_wheel else []
    return found[0].content, faults


def _mistakes(given: DistributionFile, fields: RawMetadata) -> Iterator[Problem]:
    """Yield where metadata contradict the name of their file, or have values that installers cannot read."""
    where, again = str(given.file), "build it again, and do not rename it"
    if canonicalize_name(fields.get("name", "")) != given.project:
        yield Problem(where=where, what=f"calls itself {fields.get('name', '')!r} inside", fix=again)
    if version_of(fields.get("version", "")) != given.version:
        yield Problem(where=where, what=f"says that its version is {fields.get('version', '')!r} inside", fix=again)
    try:
        SpecifierSet(fields.get("requires_python", ""))
    except InvalidSpecifier as error:
        fix = "correct Requires-Python and build it again: installers pass over such files, or ignore it"
        yield Problem(where=where, what=str(error), fix=fix)


def digest(file: Path, algorithm: str = "sha256") -> str:
    """Return a digest of a file, hex, read piece by piece."""
    made = hashlib.new(algorithm, usedforsecurity=False)  # another tool's page may have an old one
    with file.open("rb") as stream:
        while piece := stream.read(_CHUNK):
            made.update(piece)
    return made.hexdigest()
