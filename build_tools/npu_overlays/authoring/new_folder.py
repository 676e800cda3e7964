"""New folder: a folder that a command writes → the same, in its place as a whole or not at all; or what is there."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from npu_overlays.errors import OutputError, Problem, UsageError
from npu_overlays.files import scratch, writing
from npu_overlays.interrupts import held

_PRESENT = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


def presence(folder: Path, fix: str, options: tuple[tuple[str, str], ...] = ()) -> Iterator[Problem]:
    """Yield a problem where something is there already: a folder that is not empty, or no folder."""
    if folder.is_dir() and not folder.is_symlink():
        if any(folder.iterdir()):
            yield Problem(where=str(folder), what="exists already, and is not empty", fix=fix, options=options)
    elif folder.exists() or folder.is_symlink():
        yield Problem(where=str(folder), what="is there already", fix=fix, options=options)


def refuse_present(folder: Path) -> None:
    """Raise `UsageError` where something is there already, with a folder to name instead."""
    options = ((str(folder), str(another(folder))),)
    UsageError.raise_for(presence(folder, "name a folder that is not there yet", options))


def another(folder: Path) -> Path:
    """Return a folder beside one that is there, which is not there yet."""
    names = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    return next(itertools.filterfalse(Path.exists, names))


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
                stage.chmod(0o755)
                try:
                    stage.rename(folder)
                except OSError as error:
                    if error.errno not in _PRESENT:
                        raise
                    raise OutputError(Problem(where=str(folder), what="is there already", fix=fix)) from error
