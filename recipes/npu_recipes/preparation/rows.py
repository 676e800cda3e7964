"""Rows: what verl's trainers read, as parquet.

A row of reinforcement learning has a conversation to continue and how to judge that; one of fine-tuning has a whole
conversation. See verl's documentation, "Prepare Data for Post-Training".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.files import make_folder, replacing

Row = dict[str, Any]


def judged(source: str, question: str, truth: str, /, *, ability: str, **extra: Any) -> Row:
    """Return a row for reinforcement learning.

    Args:
        source: by which verl chooses its reward function.
        question: what the user says.
        truth: what the reward function compares an answer with.
        ability: what is asked for.
        extra: what else reward functions are given.
    """
    return {
        "data_source": source,
        "prompt": [{"role": "user", "content": question}],
        "ability": ability,
        "reward_model": {"style": "rule", "ground_truth": truth},
        "extra_info": extra,
    }


def conversation(question: str, answer: str) -> Row:
    """Return a row for fine-tuning."""
    return {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}


def write_splits(folder: Path, *, train: Iterable[Mapping[str, Any]], test: Iterable[Mapping[str, Any]]) -> None:
    """Write ``train.parquet`` and ``test.parquet`` into a folder: both, or neither.

    Raises:
        RecipeError: a split has no row, pyarrow is not installed, or a file cannot be written.
    """
    pyarrow = arrow()
    tables = {
        folder / f"{split}.parquet": pyarrow.Table.from_pylist(list(rows))
        for split, rows in (("train", train), ("test", test))
    }
    for file, table in tables.items():
        if not table.num_rows:
            raise RecipeError(Problem(where=str(file), what="there are no rows to write", fix="look at what is read"))
    make_folder(folder, option="--output")
    with ExitStack() as stack:
        for file, table in tables.items():
            stream = stack.enter_context(replacing(file, option="--output"))
            pyarrow.parquet.write_table(table, stream)
            stream.flush()  # a full disk is an error before either file takes its place


def arrow() -> Any:
    """Return pyarrow, with `parquet`; raises `RecipeError` where it is not installed."""
    try:
        import pyarrow.parquet  # noqa: PLC0415  # verl brings it, and comparing runs does without
    except ImportError as error:
        fix = "install verl-npu, which brings it, or pyarrow alone"
        raise RecipeError(Problem(where="pyarrow", what="is not installed", fix=fix)) from error
    return pyarrow
