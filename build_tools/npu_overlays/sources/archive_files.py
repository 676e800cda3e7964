"""Archive files: a wheel or an sdist → its regular files; anything else in it is refused.

They are read as streams, up to a limit: a small archive can unpack to more than the machine's memory.
"""

from __future__ import annotations

import gzip
import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from npu_summary.changes import SCHEMES

HEADERS = f"{SCHEMES}/headers"
_LIBRARIES = ("purelib", "platlib")
# Real ones unpack to 3 to 10 times their size.
_RATIO = 100
_SLACK = 32 << 20
_MOST = 4 << 30
_CHUNK = 1 << 20
# What a zip file ends with, in bytes; large ones have two more records: the locator leads to the other one.
_END, _LOCATOR, _END_64 = 22, 20, 20 + 56


class ArchiveError(Exception):
    """An archive is broken, or holds what cannot be unpacked."""


@dataclass(frozen=True, kw_only=True)
class ArchiveMember:
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
    """How many bytes of an archive may still be unpacked."""

    def __init__(self, packed: int) -> None:
        self._limit = min(packed * _RATIO + _SLACK, _MOST)
        self._left = self._limit

    def spend(self, chunk: bytes) -> bytes:
        """Return `chunk`; raises `ArchiveError` if it exceeds the limit."""
        self._left -= len(chunk)
        if self._left < 0:
            raise ArchiveError(f"unpacks to more than {self._limit >> 20} MiB, which is out of proportion")
        return chunk

    def read(self, stream: IO[bytes]) -> bytes:
        """Return the rest of `stream`."""
        content = bytearray()
        while chunk := stream.read(_CHUNK):
            content += self.spend(chunk)
        return bytes(content)


class _Metered(gzip.GzipFile):
    """A compressed stream that counts the bytes read."""

    def __init__(self, archive: IO[bytes], budget: _Budget) -> None:
        super().__init__(fileobj=archive)
        self._budget = budget

    def read(self, size: int | None = -1) -> bytes:
        return self._budget.spend(super().read(size))


def place_of(path: str) -> str:
    """Return the place of a wheel's file: below the library folder, or below `SCHEMES` by the kind of place.

    The wheel's folder for the second kind is named after the distribution and its version.
    """
    top, _, rest = path.partition("/")
    if not top.endswith(SCHEMES):
        return path
    kind, _, inner = rest.partition("/")
    return inner if kind in _LIBRARIES else f"{SCHEMES}/{rest}"


def read_archive(archive: bytes, name: str, wanted: Callable[[str], bool] = bool) -> list[ArchiveMember]:
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


def archive_members(file: Path) -> Iterator[ArchiveMember]:
    """Yield the files of a wheel or sdist (``.tar.gz``) one by one, so that only one is in memory.

    Raises:
        ArchiveError: it is broken, or holds links.
        OSError: it cannot be read.
    """
    packed = file.stat().st_size
    with file.open("rb") as stream:
        if file.name.endswith(".tar.gz"):
            with _opened_tar(stream, packed) as members:
                yield from members
        else:
            with _opened_zip(stream, "wheel") as archive:
                budget = _Budget(packed)
                for info in archive.infolist():
                    if not info.filename.endswith("/"):
                        yield _zip_member(archive, info, budget)


def unaccounted(file: Path) -> int:
    """Return how many bytes of a readable zip file belong to no file; negative if some belong to several.

    Such bytes can hide before, between and after the files, where no reader looks.
    """
    content = file.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = [_END + _END_64 * (content[-_END - _LOCATOR :][:4] == b"PK\x06\x07")]
        for info in archive.infolist():
            name, extra = struct.unpack_from("<HH", content, info.header_offset + 26)
            parts += [30 + name + extra + info.compress_size, 46 + name + len(info.extra) + len(info.comment)]
    return len(content) - sum(parts)


def _read_zip(content: bytes, kind: str, wanted: Callable[[str], bool]) -> list[ArchiveMember]:
    budget = _Budget(len(content))
    with _opened_zip(io.BytesIO(content), kind) as archive:
        infos = [one for one in archive.infolist() if not one.filename.endswith("/") and wanted(one.orig_filename)]
        return [_zip_member(archive, info, budget) for info in infos]


@contextmanager
def _opened_zip(stream: IO[bytes], kind: str) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(stream) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ArchiveError(f"is not a whole {kind}: {error}") from error


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: _Budget) -> ArchiveMember:
    mode = info.external_attr >> 16
    if stat.S_ISLNK(mode):
        raise ArchiveError(f"{info.filename!r} is a symbolic link")
    with archive.open(info) as stream:
        # ZipInfo cuts names at a NUL and turns backslashes round on some systems; the name as stored is what counts.
        return ArchiveMember(path=info.orig_filename, content=budget.read(stream), executable=bool(mode & 0o111))


def _read_tar(content: bytes) -> list[ArchiveMember]:
    with _opened_tar(io.BytesIO(content), len(content)) as members:
        return list(members)


@contextmanager
def _opened_tar(stream: IO[bytes], packed: int) -> Iterator[Iterator[ArchiveMember]]:
    try:
        with _Metered(stream, _Budget(packed)) as plain, tarfile.open(fileobj=plain, mode="r|") as archive:
            yield (_tar_member(archive, info) for info in archive if not info.isdir())
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
        raise ArchiveError(f"is not a whole sdist: {error}") from error


def _tar_member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> ArchiveMember:
    if not info.isreg():
        raise ArchiveError(f"{info.name!r} is a link or a device, not a file")
    stream = archive.extractfile(info)
    content = stream.read() if stream else b""
    if len(content) != info.size:
        raise ArchiveError(f"{info.name!r} is cut short")
    return ArchiveMember(path=info.name, content=content, executable=bool(info.mode & 0o111))
