"""File: installed summary packages → one page in one file, or why there is none."""

from __future__ import annotations

import errno
import os

from .. import changes as model
from .. import installed
from . import parse, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..installed import Place
    from . import Shipped


def write(places: list[Place], name: str) -> list[str]:
    """Write the page of everything that lies at the places, whole or not at all.

    Returns:
        Why nothing was written, a message for each reason; empty where the page is there.
    """
    shipped: list[Shipped] = []
    problems: list[str] = []
    for place in places:
        read = installed.DATA
        try:
            changes = model.parse(place.read(read))
            read = installed.DIFF
            shipped.append((changes, parse(place.read(read), changes)))
        except (OSError, model.Unreadable) as error:
            problems.append(installed.problem(place, read, error))
    if shipped and not problems:
        try:
            _replace(os.path.realpath(name), render(shipped))
        except OSError as error:
            problems.append(
                f"{name}: cannot be written: {error.strerror or error}; name a file in a folder that is there"
            )
    return problems


def _replace(file: str, content: bytes) -> None:
    """Write a file beside its place and rename it; a device or a folder, which that would replace, is refused."""
    if os.path.exists(file) and not os.path.isfile(file):
        raise OSError(errno.EINVAL, "it is no file")
    made = f"{file}.{os.getpid()}.part"
    try:
        with open(made, "xb") as opened:
            opened.write(content)
        os.replace(made, file)
    finally:
        if os.path.exists(made):
            os.unlink(made)
