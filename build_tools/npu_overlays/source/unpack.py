"""Archive files: a wheel or an sdist goes in, its regular files come out; anything else in it is refused."""

from __future__ import annotations

import stat
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npu_overlays.source.entry import File

if TYPE_CHECKING:
    from pathlib import Path


class UnpackError(Exception):
    """An archive is broken, or holds what cannot be unpacked."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """One regular file of an archive."""

    path: str
    content: bytes
    executable: bool

    def file(self, path: str) -> File:
        """Return this member as a file of the repository."""
        return File(path=path, content=self.content, executable=self.executable)

    def text(self) -> str:
        """Return the content as text."""
        try:
            return self.content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UnpackError(f"{self.path} is not UTF-8: {error}") from error


def read_wheel(file: Path) -> list[Member]:
    """Return the files of a zip archive; raises `UnpackError`."""
    try:
        with zipfile.ZipFile(file) as archive:
            return [_zip_member(archive, info) for info in archive.infolist() if not info.filename.endswith("/")]
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise UnpackError(f"is not a whole wheel: {error}") from error


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    mode = info.external_attr >> 16
    # ZipInfo cuts names at a NUL and turns backslashes round on some systems; the name as stored is what counts.
    if stat.S_ISLNK(mode):
        raise UnpackError(f"{info.filename!r} is a symbolic link")
    return Member(path=info.orig_filename, content=archive.read(info), executable=bool(mode & 0o111))


def read_sdist(file: Path) -> list[Member]:
    """Return the files of a compressed tar archive; raises `UnpackError`."""
    try:
        with tarfile.open(file, "r:*") as archive:
            return [_tar_member(archive, info) for info in archive if not info.isdir()]
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise UnpackError(f"is not a whole sdist: {error}") from error


def _tar_member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Member:
    if not info.isreg():
        raise UnpackError(f"{info.name!r} is a link or a device, not a file")
    stream = archive.extractfile(info)
    content = stream.read() if stream else b""
    if len(content) != info.size:
        raise UnpackError(f"{info.name!r} is cut short")
    return Member(path=info.name, content=content, executable=bool(info.mode & 0o111))
