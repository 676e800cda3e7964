"""New folder: a folder that a command writes → the same, in its place as a whole or not at all."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from npu_overlays.errors import OutputError, Problem
from npu_overlays.files import scratch, writing
from npu_overlays.interrupts import held

_PRESENT = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


@contextmanager
def new_folder(folder: Path, *, option: str = "", fix: str) -> Iterator[Path]:
    """Give a hidden folder beside the one to write, which takes its place when the block ends without an error.

    An empty folder may be there already.

    Args:
        folder: the folder to write.
        option: how the user chooses another place, e.g. ``--out``; empty if there is no other.
        fix: what the user does where something is in the way.

    Raises:
        OutputError: something is there by then, or the folder cannot be written.
    """
    with writing(folder.parent, option=option):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with scratch(folder.parent) as stage:
            yield stage
            with held(f"{folder} is written"):
                _move(stage, folder, fix)


def _move(stage: Path, folder: Path, fix: str) -> None:
    stage.chmod(0o755)
    try:
        stage.rename(folder)
    except OSError as error:
        if error.errno not in _PRESENT:
            raise
        raise OutputError(Problem(where=str(folder), what="is there already", fix=fix)) from error
