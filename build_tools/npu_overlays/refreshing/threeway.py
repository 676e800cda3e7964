"""Three ways: a change of a text that was made from another → the same change of that other one."""

from __future__ import annotations

import tempfile
from pathlib import Path

from npu_overlays import git
from npu_overlays.proc import ProcessError


def carried(source: bytes, made: bytes, wanted: bytes) -> bytes | None:
    """Return `source` with what leads from `made` to `wanted`; None where that meets what leads from one to the other.

    Args:
        source: a text.
        made: what was made of it.
        wanted: what is to be made of it.
    """
    with tempfile.TemporaryDirectory(prefix="npu-overlays-merge-") as folder:
        files = [Path(folder) / name for name in ("source", "made", "wanted")]
        for file, content in zip(files, (source, made, wanted), strict=True):
            file.write_bytes(content)
        try:
            return git.alone("merge-file", "--quiet", "--stdout", *map(str, files), cwd=Path(folder))
        except ProcessError:
            return None
