"""DAPO-Math: problems that already have verl's form, with each repeated a hundred times on the hub → each once.

The columns are those of verl's own recipe: ``prompt``, ``reward_model`` with the truth, ``data_source``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.preparing.reading import read_rows
from npu_recipes.preparing.rows import write_splits

HUB, TEST = "BytedTsinghua-SIA/DAPO-Math-17k", "BytedTsinghua-SIA/AIME-2024"
COLUMNS = ("data_source", "prompt", "ability", "reward_model", "extra_info")


def prepare(folder: Path, source: str) -> None:
    """Write the problems to train on, and the competition of 2024 to validate with.

    A folder of the user's holds a file for each, with the words ``train`` and ``test`` in their names.
    """
    # On the hub each is a data set of its own, with nothing but rows to train on.
    train = _once(read_rows(source, hub=HUB, config="", split="train"), f"{source or HUB}: train")
    test = _once(read_rows(source, hub=TEST, config="", split="test" if source else "train"), f"{source or TEST}: test")
    write_splits(folder, train=train, test=test)


def _once(rows: Iterator[dict[str, Any]], where: str) -> list[dict[str, Any]]:
    """Return each problem once; raises `RecipeError` where rows have another form."""
    once: dict[str, dict[str, Any]] = {}
    wrong: list[Problem] = []
    for number, row in enumerate(rows):
        if _has_form(row):
            once.setdefault(_question(row), {key: row[key] for key in COLUMNS if key in row})
        else:
            what = "has no prompt with a content, or no ground_truth"
            wrong.append(Problem(where=f"{where}, row {number}", what=what))
    if wrong:
        raise RecipeError(wrong[:10])
    return list(once.values())


def _question(row: dict[str, Any]) -> str:
    return str(row["prompt"][0]["content"])


def _has_form(row: dict[str, Any]) -> bool:
    try:
        return bool(_question(row)) and "ground_truth" in row["reward_model"] and bool(row["data_source"])
    except (KeyError, IndexError, TypeError):
        return False
