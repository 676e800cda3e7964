"""DAPO-Math: problems that already have verl's form, with each repeated a hundred times on the hub → each once.

The columns are those of verl's own recipe: ``prompt``, ``reward_model`` with the truth, ``data_source``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.preparing.reading import read_rows
from npu_recipes.preparing.rows import write_parquet

HUB, TEST = "BytedTsinghua-SIA/DAPO-Math-17k", "BytedTsinghua-SIA/AIME-2024"
COLUMNS = ("data_source", "prompt", "ability", "reward_model", "extra_info")


def prepare(folder: Path, source: str) -> None:
    """Write the problems to train on, and the competition of 2024 to validate with.

    A folder of the user's holds a file for each, with ``train`` and ``test`` in their names.
    """
    for split, hub in (("train", HUB), ("test", TEST)):
        once: dict[str, dict[str, Any]] = {}
        wrong: list[Problem] = []
        for number, row in enumerate(read_rows(source, hub=hub, config="", split=split if source else "train")):
            if not _has_form(row):
                where = f"{source or hub}: {split}, row {number}"
                wrong.append(Problem(where=where, what="has no prompt with a content, or no ground_truth"))
                continue
            once.setdefault(_question(row), {key: row[key] for key in COLUMNS if key in row})
        if wrong:
            raise RecipeError(wrong[:10])
        write_parquet(once.values(), folder / f"{split}.parquet")


def _question(row: dict[str, Any]) -> str:
    return str(row["prompt"][0]["content"])


def _has_form(row: dict[str, Any]) -> bool:
    try:
        return bool(_question(row)) and "ground_truth" in row["reward_model"] and bool(row["data_source"])
    except (KeyError, IndexError, TypeError):
        return False
