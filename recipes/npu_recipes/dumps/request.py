"""What of a model is to be recorded, and into which file, as options of a command or variables say it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.files import at_home


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What of a model is recorded."""

    calls: int = 1  # how many of its forwards
    skip: int = 0  # how many before them are not
    only: str = ""  # a regular expression: only modules whose path this is found in, and the model itself
    elements: int = 65536  # how many elements of a tensor at most, evenly spread over each of its dimensions; 0 for all


def problems_of(wanted: Wanted, called: Callable[[str, object], str]) -> Iterator[Problem]:
    """Yield what cannot be wanted; `called` says how a field with its value was written."""
    for name, value, least in (("calls", wanted.calls, 1), ("skip", wanted.skip, 0), ("elements", wanted.elements, 0)):
        if value < least:
            yield Problem(where=called(name, value), what="is too small", fix=f"give {least} or more")
    try:
        re.compile(wanted.only)
    except re.error as error:
        fix = r"write one that is found in paths of modules, such as layers\.0\."
        yield Problem(where=called("only", wanted.only), what=f"is no regular expression: {error}", fix=fix)


_RANK = "{rank}"


def file_of(name: str, asked: str, environ: Mapping[str, str]) -> Path:
    """Return the file of this process, wherever its program goes to.

    Args:
        name: of the file, with ``{rank}`` for the number of the process.
        asked: what named it, for messages: ``--out gpu.npz``.
        environ: says which of how many processes this is.

    Raises:
        RecipeError: several would write the same, or there is no such folder.
    """
    world = environ.get("WORLD_SIZE", "")
    if _RANK not in name and world not in {"", "1"}:
        what = f"is one file, and {world} processes would write it (WORLD_SIZE={world})"
        raise RecipeError(Problem(where=asked, what=what, fix=f"name one for each: {Path(name).stem}-{_RANK}.npz"))
    file = at_home(name.replace(_RANK, environ.get("RANK") or _own())).absolute()
    if not file.parent.is_dir():
        raise RecipeError(Problem(where=asked, what="is in no folder", fix=f"make it: mkdir -p {file.parent}"))
    return file


def spared(file: Path, began: float) -> Path:
    """Return a file, or one of this process alone where another process has written it since this one `began`."""
    written = file.exists() and file.stat().st_mtime >= began
    return file.with_stem(f"{file.stem}-{_own()}") if written else file


def _own() -> str:
    """Return what tells processes apart that nobody has numbered."""
    return f"pid{os.getpid()}"
