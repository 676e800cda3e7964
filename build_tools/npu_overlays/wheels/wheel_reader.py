"""Wheel reader: a wheel → its files and its metadata."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser, HeaderParser
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from npu_overlays.errors import OutputError, Problem, listing
from npu_overlays.paths import faults
from npu_overlays.sources.archive_files import ArchiveError, ArchiveMember, read_archive
from npu_summary.changes import SCHEMES

REBUILD = "build the wheel again, or fetch it again from where it was published"


@dataclass(frozen=True, kw_only=True)
class WheelContents:
    """A wheel read whole."""

    file: Path  # the wheel
    members: Mapping[str, bytes]  # every file's content by its path
    info: str  # name of its metadata folder
    name: str  # its distribution, as METADATA says
    version: str  # likewise
    requires: tuple[str, ...]  # likewise, each requirement in its normal spelling

    @property
    def content(self) -> dict[str, bytes]:
        """Everything outside the metadata folder, by its place; what is not for the library folder, below `SCHEMES`."""
        held = {path: data for path, data in self.members.items() if not path.startswith(f"{self.info}/")}
        stem = self.info.removesuffix(".dist-info")
        moved = {}
        for path in list(held):
            # One of a name that is taken keeps its own, under which nothing vouches for it.
            if path.startswith(f"{stem}{SCHEMES}/") and path.removeprefix(stem) not in held:
                moved[path.removeprefix(stem)] = held.pop(path)
        return {**held, **moved}

    @property
    def header(self) -> Message:
        """Its WHEEL file."""
        return HeaderParser().parsestr(self.members.get(f"{self.info}/WHEEL", b"").decode(errors="replace"))

    def problem(self, where: str, what: str) -> Problem:
        """Return a problem of one of its files."""
        return Problem(where=f"{self.file}: {where}", what=what, fix=REBUILD)


def read_members(file: Path, wanted: Callable[[str], bool] = bool) -> list[ArchiveMember]:
    """Return the files of a wheel, those of `wanted` paths if given; raises `OutputError` for any other file."""
    try:
        return read_archive(file.read_bytes(), file.name, wanted)
    except FileNotFoundError as error:
        raise not_ours(file, "no such file") from error
    except IsADirectoryError as error:
        raise OutputError(Problem(where=str(file), what="is a folder", fix="name a wheel in it")) from error
    except OSError as error:
        raise not_ours(file, f"cannot be read: {error.strerror}") from error
    except ArchiveError as error:
        raise OutputError(Problem(where=str(file), what=str(error), fix=REBUILD)) from error


def not_ours(file: Path, what: str) -> OutputError:
    """Return the error that a file is no wheel of ours."""
    return OutputError(Problem(where=str(file), what=what, fix="name a wheel that npu-overlays built"))


def read_wheel(file: Path) -> WheelContents:
    """Read a wheel; raises `OutputError` for any other file."""
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


def record_digest(content: bytes) -> str:
    """Return the digest of a file as RECORD states it."""
    return as_recorded(hashlib.sha256(content).digest())


def as_recorded(digest: bytes) -> str:
    """Return a sha256 as RECORD states it."""
    return f"sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"
