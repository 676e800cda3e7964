"""A wheel is put together from metadata of hatchling's and files that are deflated once: the bytes are hatchling's."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hatchling.builders.plugin.interface import IncludedFile
from hatchling.builders.wheel import WheelBuilder
from hypothesis import given
from hypothesis import strategies as st

from npu_overlays.sources.deflated_members import deflated
from npu_overlays.wheels.assembly import WheelFile, assemble

FILES = (
    WheelFile(place="demo/__init__.py", content=b"long " * 10_000),
    WheelFile(place="demo/empty", content=b""),
    WheelFile(place='demo/größe, "so".txt', content="größer\r\n".encode()),
    WheelFile(place="demo/run.sh", content=b"#!/bin/sh\n", executable=True),
    WheelFile(place="demo/inner/last.py", content=b"last = True\n"),
)
DOCUMENT = {
    "project": {"name": "demo", "version": "1.0", "license-files": ["LICENSE"], "scripts": {"demo": "demo:main"}},
    "tool": {"hatch": {"build": {"targets": {"wheel": {"bypass-selection": True}}}}},
}


class Hatchling(WheelBuilder):
    """Hatchling, which reads the files of a wheel from a folder."""

    files: tuple[WheelFile, ...] = ()

    def recurse_included_files(self) -> Iterator[IncludedFile]:
        """Yield the files, written down."""
        for number, file in enumerate(self.files):
            written = Path(self.root, str(number))
            written.write_bytes(file.content)
            written.chmod(0o755 if file.executable else 0o644)
            yield IncludedFile(str(written), "", file.place)


def made_by_hatchling(folder: Path, files: tuple[WheelFile, ...]) -> bytes:
    (folder / "LICENSE").write_text("Free for all.\n")
    document: dict[str, Any] = DOCUMENT
    builder = Hatchling(str(folder), config=document)
    builder.files = files
    (made,) = builder.build(directory=str(folder / f"of {len(files)}"), versions=["standard"])
    return Path(made).read_bytes()


def assembled(metadata: bytes, files: tuple[WheelFile, ...]) -> bytes:
    made = io.BytesIO()
    assemble(made, metadata, files)
    return made.getvalue()


def test_a_wheel_is_hatchlings_to_the_last_byte(tmp_path: Path) -> None:
    made = assembled(made_by_hatchling(tmp_path, ()), FILES)
    assert made == made_by_hatchling(tmp_path, FILES)
    (tmp_path / "made.whl").write_bytes(made)
    with zipfile.ZipFile(tmp_path / "made.whl") as wheel:
        assert wheel.testzip() is None
        assert {file.place: file.content for file in FILES}.items() <= {
            name: wheel.read(name) for name in wheel.namelist()
        }.items()
        modes = {file.place: wheel.getinfo(file.place).external_attr >> 16 & 0o111 for file in FILES}
    assert {place for place, mode in modes.items() if mode} == {"demo/run.sh"}


def test_what_is_kept_is_taken_for_what_it_is_of(tmp_path: Path) -> None:
    kept = tuple(replace(file, member=deflated(file.content)) for file in FILES)
    metadata = made_by_hatchling(tmp_path, ())
    assert assembled(metadata, kept) == assembled(metadata, FILES)


@given(st.binary(max_size=100_000))
def test_any_bytes_are_deflated_as_zipfile_does(tmp_path_factory: Any, content: bytes) -> None:
    file = tmp_path_factory.mktemp("zip") / "one.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("one", content)
    entry = archive.getinfo("one")
    raw = file.read_bytes()[entry.header_offset + len(entry.FileHeader()) :][: entry.compress_size]
    made = deflated(content)
    assert (made.checksum, made.size, made.deflated) == (entry.CRC, entry.file_size, raw)
