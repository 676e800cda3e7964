"""Things made once for all pytest workers of a run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock


def once(shared: Path, name: str, make: Callable[[Path], None]) -> Path:
    """Return the folder `name` below `shared`, made by the first worker that asks for it.

    A failure is not kept: the next one to ask tries again and fails with the same words.
    """
    folder = shared / name
    done = shared / f"{name}.done"
    with FileLock(str(shared / f"{name}.lock")):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            make(folder)
            done.touch()
    return folder
