"""Files: what a user calls them, and what is written appears whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from npu_recipes.errors import Problem, RecipeError


def at_home(text: str) -> Path:
    """Return the path that a text names, with the home that `~` stands for: shells leave `--output=~/runs` as it is."""
    return Path(os.path.expanduser(text))  # noqa: PTH111  # pathlib's own fails where there is no such user


def make_folder(folder: Path, *, option: str) -> None:
    """Make a folder where there is none; raises `RecipeError` where that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error, option) from error


@contextmanager
def replacing(file: Path, *, option: str, last: Callable[[Path], Path] = Path) -> Iterator[IO[bytes]]:
    """Yield a new file that takes the place of `file` when the block ends well, and is gone when it does not.

    Args:
        file: what to write, or a link to that; its folder has to exist.
        option: what named it, for the message.
        last: asked at the end, with `file`, for the file to take the place of instead.

    Raises:
        RecipeError: it cannot be written.
    """
    file = Path(os.path.realpath(file)) if file.is_symlink() else file
    if file.exists() and not file.is_file():
        raise RecipeError(Problem(where=str(file), what="is no file", fix=f"name one ({option})"))
    try:
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    except OSError as error:
        raise _unwritable(file, error, option) from error
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            yield stream
        Path(name).chmod(0o666 & ~_umask())
        with _alone(file.parent):
            Path(name).replace(last(file))
    except OSError as error:
        raise _unwritable(file, error, option) from error
    finally:
        with suppress(OSError):
            Path(name).unlink()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes that write into a folder from asking and replacing at once, where its disk can do that."""
    with ExitStack() as stack:
        with suppress(ImportError, OSError):
            import fcntl  # noqa: PLC0415  # Windows has none

            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def write_whole(file: Path, content: bytes, *, option: str) -> None:
    """Write a file; raises `RecipeError` where that fails, and leaves what was there."""
    with replacing(file, option=option) as stream:
        stream.write(content)


def _umask() -> int:
    """Return the mask of this process, which temporary files do not follow."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _unwritable(file: Path, error: OSError, option: str) -> RecipeError:
    what = f"cannot be written: {error.strerror or error}"
    return RecipeError(Problem(where=str(file), what=what, fix=f"name a file in a folder you may write to ({option})"))
