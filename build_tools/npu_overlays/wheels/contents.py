"""Contents: a wheel → its files and metadata, and where RECORD, tags and names do not fit them."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.parser import BytesParser, HeaderParser
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import parse_tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from npu_overlays.errors import OutputError, Problem, listing
from npu_overlays.paths import faults
from npu_overlays.sources.archive_files import ArchiveError, ArchiveMember, read_archive
from npu_summary.changes import SCHEMES

REBUILD = "build the wheel again, or fetch it again from where it was published"


@dataclass(frozen=True, kw_only=True)
class WheelContents:
    """A wheel read whole.

    Args:
        file: the wheel.
        members: every file's content by its path.
        info: name of its metadata folder.
        name: its distribution, as METADATA says.
        version: likewise.
        requires: likewise, each requirement in its normal spelling.
    """

    file: Path
    members: Mapping[str, bytes]
    info: str
    name: str
    version: str
    requires: tuple[str, ...]

    @property
    def content(self) -> dict[str, bytes]:
        """Everything outside the metadata folder, by its place; what is not for the library folder, below `SCHEMES`."""
        held = {path: data for path, data in self.members.items() if not path.startswith(f"{self.info}/")}
        stem = self.info.removesuffix(".dist-info")
        outside = [path for path in held if path.startswith(f"{stem}{SCHEMES}/")]
        # One of a name that is taken keeps its own, under which nothing vouches for it.
        free = [path for path in outside if path.removeprefix(stem) not in held]
        moved = {path.removeprefix(stem): held.pop(path) for path in free}
        return {**held, **moved}

    def problem(self, where: str, what: str) -> Problem:
        """Return a problem of one of its files."""
        return Problem(where=f"{self.file}: {where}", what=what, fix=REBUILD)


def read_members(file: Path, wanted: Callable[[str], bool] = bool) -> list[ArchiveMember]:
    """Return the files of a wheel, those of `wanted` paths if given; raises `OutputError` where it is none."""
    try:
        return read_archive(file.read_bytes(), file.name, wanted)
    except FileNotFoundError as error:
        raise not_ours(file, "no such file") from error
    except OSError as error:
        raise not_ours(file, f"cannot be read: {error.strerror}") from error
    except ArchiveError as error:
        raise not_ours(file, str(error)) from error


def not_ours(file: Path, what: str) -> OutputError:
    """Return the error that a file is no wheel of ours."""
    return OutputError(Problem(where=str(file), what=what, fix="name a wheel that npu-overlays built"))


def read_wheel(file: Path) -> WheelContents:
    """Read a wheel; raises `OutputError` where it is none."""
    found = read_members(file)
    members = {member.path: member.content for member in found}
    if wrong := faults(member.path for member in found):
        raise not_ours(file, f"holds paths that cannot be unpacked: {listing(wrong)}")
    # Below the top, these are of distributions that a package holds for itself.
    folders = [name.rpartition("/")[0] for name in members if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
    if len(folders) != 1:
        raise not_ours(file, f"holds {len(folders)} METADATA files instead of one")
    metadata = BytesParser().parsebytes(members[f"{folders[0]}/METADATA"], headersonly=True)
    if not metadata["Name"] or not metadata["Version"]:
        raise not_ours(file, "its METADATA names no distribution or version")
    return WheelContents(
        file=file,
        members=members,
        info=folders[0],
        name=str(metadata["Name"]),
        version=str(metadata["Version"]),
        requires=tuple(_normal(str(text)) for text in metadata.get_all("Requires-Dist", [])),
    )


def _normal(requirement: str) -> str:
    try:
        return str(Requirement(requirement))
    except InvalidRequirement:
        return requirement


def check_record(wheel: WheelContents) -> Iterator[Problem]:
    """Yield files that RECORD lacks, has too many, or gives another digest or size."""
    own = f"{wheel.info}/RECORD"
    rows = _rows(wheel.members.get(own, b""))
    for path in sorted(wheel.members.keys() | rows.keys()):
        if path not in rows:
            yield wheel.problem("RECORD", f"does not list {path}")
        elif path not in wheel.members:
            yield wheel.problem("RECORD", f"lists {path}, which the wheel does not hold")
        elif path != own and rows[path] != [record_digest(wheel.members[path]), str(len(wheel.members[path]))]:
            yield wheel.problem("RECORD", f"gives another digest or size than {path} has")


def _rows(record: bytes) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in csv.reader(io.StringIO(record.decode())) if row}


def record_digest(content: bytes) -> str:
    """Return the digest of a file as RECORD states it."""
    return as_recorded(hashlib.sha256(content).digest())


def as_recorded(digest: bytes) -> str:
    """Return a sha256 as RECORD states it."""
    return f"sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


def check_tags(wheel: WheelContents) -> Iterator[Problem]:
    """Yield where the name claims other Pythons and platforms than WHEEL does."""
    header = HeaderParser().parsestr(wheel.members.get(f"{wheel.info}/WHEEL", b"").decode(errors="replace"))
    tags = {tag for text in header.get_all("Tag", []) for tag in parse_tag(str(text))}
    try:
        named = parse_wheel_filename(wheel.file.name)[3]
    except InvalidWheelFilename:
        return  # told by `check_names`
    if tags != named:
        yield wheel.problem("WHEEL", f"says it is for {', '.join(sorted(map(str, tags)))}, its name says otherwise")


def check_names(wheel: WheelContents) -> Iterator[Problem]:
    """Yield where file name, metadata folder and metadata do not name the same distribution."""
    own = (canonicalize_name(wheel.name), wheel.version)
    try:
        name, version, _, _ = parse_wheel_filename(wheel.file.name)
    except InvalidWheelFilename as error:
        yield wheel.problem("its name", str(error))
        return
    if (name, str(version)) != own:
        yield wheel.problem("METADATA", f"says {wheel.name} {wheel.version}, the file's name {name} {version}")
    folder = wheel.info.removesuffix(".dist-info").partition("-")
    if (canonicalize_name(folder[0]), folder[2]) != own:
        yield wheel.problem(wheel.info, f"does not belong to {wheel.name} {wheel.version}")
