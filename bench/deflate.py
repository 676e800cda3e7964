"""Deflate: wheels → how long it takes to compress their bytes once more, which no builder of wheels can do without."""

from __future__ import annotations

import sys
import time
import zipfile
import zlib
from pathlib import Path

_LEVEL = 6


def deflate(wheel: Path) -> float:
    """Return the seconds it takes to deflate every file of the wheel, reading not counted."""
    with zipfile.ZipFile(wheel) as archive:
        contents = [archive.read(name) for name in archive.namelist()]
    start = time.perf_counter()
    for content in contents:
        zlib.compress(content, _LEVEL)
    return time.perf_counter() - start


if __name__ == "__main__":
    print(sum(deflate(Path(name)) for name in sys.argv[1:]))
