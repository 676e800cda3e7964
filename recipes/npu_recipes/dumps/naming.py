"""Naming: what an option says → the file of this process, of many that run the same."""

from __future__ import annotations

import os
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.files import at_home

_RANK = "{rank}"


def file_of(name: str, rank: str, world: str) -> Path:
    """Return the file of this process; raises `RecipeError` where several would write the same."""
    if _RANK not in name and world not in {"", "1"}:
        what = f"is one file, and {world} processes would write it"
        raise RecipeError(
            Problem(where=f"--out {name}", what=what, fix=f"name one for each: {Path(name).stem}-{_RANK}.npz")
        )
    return at_home(name.replace(_RANK, rank or _own()))


def spared(file: Path, began: float) -> Path:
    """Return a file, or one of this process alone where another process has written it since this one `began`."""
    written = file.exists() and file.stat().st_mtime >= began
    return file.with_stem(f"{file.stem}-{_own()}") if written else file


def _own() -> str:
    """Return what tells processes apart that nobody has numbered."""
    return f"pid{os.getpid()}"
