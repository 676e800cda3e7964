"""Naming: what an option says → the file of this process, of many that run the same."""

from __future__ import annotations

from pathlib import Path

from npu_recipes.errors import Problem, RecipeError

_RANK = "{rank}"


def file_of(name: str, rank: str, world: str) -> Path:
    """Return the file of this process; raises `RecipeError` where several would write the same."""
    if _RANK not in name and world not in {"", "1"}:
        what = f"is one file, and {world} processes would write it"
        raise RecipeError(
            Problem(where=f"--out {name}", what=what, fix=f"name one for each: {Path(name).stem}-{_RANK}.npz")
        )
    return Path(name.replace(_RANK, rank or "0"))
