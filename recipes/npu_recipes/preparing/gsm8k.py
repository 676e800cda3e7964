"""GSM8K: problems of the form ``{"question": …, "answer": "… #### 72"}`` → rows for verl's own reward function."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.preparing.reading import read_rows
from npu_recipes.preparing.rows import conversation, judged, write_splits

HUB = "openai/gsm8k"
# How verl's reward function wants an answer to end; what verl's own preparation asks for, word by word.
INSTRUCTION = 'Let\'s think step by step and output the final answer after "####".'
_TRUTH = re.compile(r"####\s*(-?[0-9.,]+)\s*$")


def prepare_judged(folder: Path, source: str) -> None:
    """Write prompts with the number each should lead to."""
    _prepare(folder, source, _judged)


def prepare_conversations(folder: Path, source: str) -> None:
    """Write questions with their answers, for fine-tuning."""
    _prepare(folder, source, lambda row, _split, _index: _conversation_row(row))


def _prepare(folder: Path, source: str, make: Callable[[dict[str, Any], str, int], dict[str, Any]]) -> None:
    def rows(split: str) -> list[dict[str, Any]]:
        found = list(read_rows(source, hub=HUB, config="main", split=split))
        _check(found, source or HUB, split)
        return [make(row, split, index) for index, row in enumerate(found)]

    write_splits(folder, train=rows("train"), test=rows("test"))


def _judged(row: dict[str, Any], split: str, index: int) -> dict[str, Any]:
    question, answer = row["question"], row["answer"]
    more = {"split": split, "index": index, "question": question, "answer": answer}
    return judged(HUB, f"{question} {INSTRUCTION}", truth_of(answer), ability="math", **more)


def _conversation_row(row: dict[str, Any]) -> dict[str, Any]:
    # Besides the conversation, what trainers before verl 0.7 read.
    return {**conversation(row["question"], row["answer"]), "extra_info": dict(row)}


def truth_of(answer: str) -> str:
    """Return the number an answer of GSM8K ends with; empty where it ends otherwise."""
    found = _TRUTH.search(answer)
    return found[1].replace(",", "") if found else ""


def _check(rows: list[dict[str, Any]], where: str, split: str) -> None:
    wrong = [
        Problem(
            where=f"{where}: {split}, row {number}", what="is no question with an answer that ends with #### NUMBER"
        )
        for number, row in enumerate(rows)
        if not isinstance(row.get("question"), str) or not truth_of(str(row.get("answer")))
    ]
    if wrong:
        raise RecipeError(wrong[:10])
