"""Naming: what an option says → the file of this process, of many that run the same."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.files import at_home

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
