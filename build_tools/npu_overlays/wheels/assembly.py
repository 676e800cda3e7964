"""Assembly: a wheel with metadata alone, and files → the wheel that hatchling would build from both.

Hatchling writes a wheel's metadata. It would read and deflate each file every time; here cached deflated files are
copied, and the result equals hatchling's to the last byte.
"""

from __future__ import annotations

import copy
import csv
import io
import stat
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from npu_overlays.files import atomically
from npu_overlays.overlay.inputs import Input
from npu_overlays.sources.deflated_members import DeflatedMember, deflated, inflated
from npu_overlays.wheels.wheel_reader import as_recorded
from npu_summary.changes import Changes


@dataclass(frozen=True, kw_only=True)
class WheelFile:
    """One file of a wheel."""

    place: str  # its path in the wheel
    content: bytes = b""  # its bytes; empty where the member is known
    executable: bool = False  # whether it is to be installed so
    member: DeflatedMember | None = None  # how a wheel holds these bytes, where that is known already

    @cached_property
    def packed(self) -> DeflatedMember:
        """How a wheel holds its bytes."""
        return self.member or deflated(self.content)

    def read(self) -> bytes:
        """Return the file's bytes."""
        return inflated(self.member) if self.member else self.content


def assemble(out: BinaryIO, metadata: bytes, files: Sequence[WheelFile]) -> None:
    """Write a wheel.

    Args:
        out: where to.
        metadata: a wheel of hatchling's without files; the last of its members is RECORD.
        files: the other files of the wheel, in hatchling's order.
    """
    with zipfile.ZipFile(io.BytesIO(metadata)) as told, zipfile.ZipFile(out, "w") as wheel:
        *others, record = told.infolist()
        rows = [_append(wheel, _entry(file, record), file.packed) for file in files]
        for entry in others:
            _append(wheel, copy.copy(entry), deflated(told.read(entry)))
        _append(wheel, copy.copy(record), deflated(_text(rows) + told.read(record)))


def _entry(file: WheelFile, like: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Return a file's entry, with another entry's date and hatchling's modes."""
    entry = zipfile.ZipInfo(file.place, like.date_time)
    entry.external_attr = (stat.S_IFREG | (0o755 if file.executable else 0o644)) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _append(wheel: zipfile.ZipFile, entry: zipfile.ZipInfo, member: DeflatedMember) -> tuple[str, str, int]:
    """Add a member that is deflated already, and return its row of RECORD.

    `zipfile` has no method for that, but knows the offsets.
    """
    out = wheel.fp
    assert out is not None  # noqa: S101  # it is open
    entry.CRC, entry.file_size, entry.compress_size = member.checksum, member.size, len(member.deflated)
    entry.header_offset = out.tell()
    out.write(entry.FileHeader() + member.deflated)
    wheel.filelist.append(entry)
    wheel.NameToInfo[entry.filename] = entry
    wheel.start_dir = out.tell()
    return entry.filename, as_recorded(bytes.fromhex(member.sha256)), member.size


def _text(rows: Iterable[tuple[str, str, int]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


@dataclass(frozen=True, kw_only=True)
class Kit:
    """The parts of one wheel."""

    name: str  # the wheel's file name
    metadata: bytes  # a wheel of hatchling's, with metadata alone
    files: Sequence[WheelFile]  # what else it holds, in hatchling's order

    def put_together(self, out: Path) -> Path:
        """Write the wheel into a folder and return it; raises `OutputError`."""
        with atomically(out / self.name) as file:
            assemble(file, self.metadata, self.files)
        return out / self.name


@dataclass(frozen=True, kw_only=True)
class WheelPair:
    """The wheels of an overlay, and their notices."""

    wheel: Kit  # the patched one
    companion: Kit  # the one that goes with it
    version: str  # of both
    record: Changes  # the content of the patched one's `changes.json`
    inputs: tuple[Input, ...]  # the files of the overlay they were made of
    notices: tuple[str, ...]  # what to know of them, in sentences
