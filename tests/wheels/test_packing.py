"""Hatchling reads what it is given one file after the other; a wheel that holds anything else is never left."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path

import pytest
from hatchling.builders.plugin.interface import IncludedFile

from npu_overlays.errors import OutputError
from npu_overlays.wheels.packing import WheelOfFiles
from npu_overlays.wheels.staging import WheelFile

TABLE = {"name": "demo", "version": "1.0"}
FILES = (
    WheelFile(place="demo/__init__.py", content=b"long " * 10_000),
    WheelFile(place="demo/empty", content=b""),
    WheelFile(place="demo/run.sh", content=b"#!/bin/sh\n", executable=True),
    WheelFile(place="demo/inner/last.py", content=b"last = True\n"),
)


class ReadingAhead(WheelOfFiles):
    """Asks for the next file before it reads one, as a release of hatchling could."""

    def recurse_included_files(self) -> Iterator[IncludedFile]:
        """Yield each file when the next one is there."""
        yield from (this for this, _ in pairwise(chain(super().recurse_included_files(), [None])) if this)


def build(kind: type[WheelOfFiles], folder: Path) -> Path:
    (made,) = kind(folder, TABLE, {"tag": "py3-none-any"}, FILES).build(directory=str(folder), versions=["standard"])
    return Path(made)


def test_every_file_is_what_was_handed_over(tmp_path: Path) -> None:
    with zipfile.ZipFile(build(WheelOfFiles, tmp_path)) as wheel:
        assert {file.place: file.content for file in FILES}.items() <= {
            name: wheel.read(name) for name in wheel.namelist()
        }.items()
        modes = {file.place: wheel.getinfo(file.place).external_attr >> 16 & 0o111 for file in FILES}
    assert {place for place, mode in modes.items() if mode} == {"demo/run.sh"}


def test_a_wheel_with_other_bytes_is_refused_and_not_left(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"wrote other bytes than it was given: demo/__init__\.py"):
        build(ReadingAhead, tmp_path)
    assert not list(tmp_path.glob("*.whl"))
