"""Archive files: a wheel or an sdist → its regular files; anything else in it is refused.

They are read as streams, and no further than a limit: a small file can unpack
to more than the machine holds.
"""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

# Real ones unpack to 3 to 10 times their size.
_RATIO = 100
_SLACK = 32 << 20
_MOST = 4 << 30
_CHUNK = 1 << 20


class ArchiveError(Exception):
    """An archive is broken, or holds what cannot be unpacked."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """One regular file of an archive."""

    path: str
    content: bytes
    executable: bool

    def text(self) -> str:
        """Return the content as text."""
        try:
            return self.content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ArchiveError(f"{self.path} is not UTF-8: {error}") from error


class _Budget:
    """How much may still be unpacked of an archive."""

    def __init__(self, archive: bytes) -> None:
        self._limit = min(len(archive) * _RATIO + _SLACK, _MOST)
        self._left = self._limit

    def spend(self, chunk: bytes) -> bytes:
        """Return `chunk`; raises `ArchiveError` where it is too much."""
        self._left -= len(chunk)
        if self._left < 0:
            raise ArchiveError(f"unpacks to more than {self._limit >> 20} MiB, which is out of proportion")
        return chunk

    def read(self, stream: IO[bytes]) -> bytes:
        """Return all that is left of `stream`."""
        content = bytearray()
        while chunk := stream.read(_CHUNK):
            content += self.spend(chunk)
        return bytes(content)


class _Metered(gzip.GzipFile):
    """A compressed stream that counts what is read from it."""

    def __init__(self, archive: bytes, budget: _Budget) -> None:
        super().__init__(fileobj=io.BytesIO(archive))
        self._budget = budget

    def read(self, size: int | None = -1) -> bytes:
        return self._budget.spend(super().read(size))


def read_archive(archive: bytes, name: str, wanted: Callable[[str], bool] = bool) -> list[Member]:
    """Return the files of an archive.

    Args:
        archive: its bytes.
        name: its file name.
        wanted: tells by its path whether a file is to be read.

    Raises:
        ArchiveError: it is broken, or holds links.
    """
    if name.endswith(".tar.gz"):
        return [member for member in _read_tar(archive) if wanted(member.path)]
    return _read_zip(archive, "sdist" if name.endswith(".zip") else "wheel", wanted)


def _read_zip(content: bytes, kind: str, wanted: Callable[[str], bool]) -> list[Member]:
    budget = _Budget(content)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = [one for one in archive.infolist() if not one.filename.endswith("/") and wanted(one.orig_filename)]
            return [_zip_member(archive, info, budget) for info in infos]
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ArchiveError(f"is not a whole {kind}: {error}") from error


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: _Budget) -> Member:
    mode = info.external_attr >> 16
    if stat.S_ISLNK(mode):
        raise ArchiveError(f"{info.filename!r} is a symbolic link")
    with archive.open(info) as stream:
        # ZipInfo cuts names at a NUL and turns backslashes round on some systems; the name as stored is what counts.
        return Member(path=info.orig_filename, content=budget.read(stream), executable=bool(mode & 0o111))


def _read_tar(content: bytes) -> list[Member]:
    try:
        with _Metered(content, _Budget(content)) as plain, tarfile.open(fileobj=plain, mode="r|") as archive:
            return [_tar_member(archive, info) for info in archive if not info.isdir()]
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
        raise ArchiveError(f"is not a whole sdist: {error}") from error


def _tar_member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Member:
    if not info.isreg():
        raise ArchiveError(f"{info.name!r} is a link or a device, not a file")
    stream = archive.extractfile(info)
    content = stream.read() if stream else b""
    if len(content) != info.size:
        raise ArchiveError(f"{info.name!r} is cut short")
    return Member(path=info.name, content=content, executable=bool(info.mode & 0o111))
