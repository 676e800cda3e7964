"""Neighbours: a file that a build wrote → the others it wrote: beside it or, on an index, in their own folders."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from npu_overlays.wheels.statement import SUFFIX


def neighbour(file: Path, name: str) -> Path:
    """Return where a wheel of that name lies, or would lie: beside the file, or where an index has it."""
    beside = file.with_name(name)
    on_index = _project_folder(file, name) / name
    return on_index if _is_on_index(file) and not beside.is_file() and on_index.is_file() else beside


def statements(wheel: Path) -> Iterator[Path]:
    """Yield the statements that may be of a wheel: those of its version; a companion's is called after our wheel."""
    version = wheel.name.partition("-")[2].partition("-")[0]
    pattern = f"*-{glob.escape(version)}-*{SUFFIX}"
    yield from sorted(wheel.parent.glob(pattern))
    if _is_on_index(wheel):
        found = sorted((wheel.parent / os.pardir).glob(f"*/{pattern}"))
        yield from (file for file in found if _is_on_index(file) and file.parent.name != wheel.absolute().parent.name)


def _is_on_index(file: Path) -> bool:
    """Return whether it lies in a folder that is called as an index calls that of its project."""
    return file.absolute().parent.name == canonicalize_name(file.name.partition("-")[0])


def _project_folder(file: Path, name: str) -> Path:
    return file.parent / os.pardir / canonicalize_name(name.partition("-")[0])
