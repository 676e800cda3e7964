"""The data sets that can be prepared, by name: GSM8K, DAPO-Math, and what the two smoke recipes train on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.preparation.rows import Row, conversation, judged, write_splits
from npu_recipes.preparation.source import read_rows
from npu_recipes.preparation.tiny import write_model

_ROW = "correct that row, or take it out"
_GSM8K = "openai/gsm8k"
# How verl's reward function wants an answer to end; what verl's own preparation asks for, word by word.
INSTRUCTION = 'Let\'s think step by step and output the final answer after "####".'
_TRUTH = re.compile(r"####\s*(-?[0-9.,]+)\s*$")
# On the hub each is a data set of its own, with nothing but rows to train on; the first repeats each problem.
_DAPO_MATH, _AIME = "BytedTsinghua-SIA/DAPO-Math-17k", "BytedTsinghua-SIA/AIME-2024"
_DAPO_COLUMNS = ("data_source", "prompt", "ability", "reward_model", "extra_info")
# How many tokens an answer of the smoke recipe has at most; the reward is the share of them that are digits.
_DIGITS = 12
_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Data to train on."""

    title: str  # what it is, in a line
    hub: str  # its name on the hub; empty for what is made here
    # Writes it into a folder, from a folder of the user's, or from the hub if that is empty.
    write: Callable[[Path, str], None]


def prepare(name: str, folder: Path, *, source: str, only_missing: bool = False) -> None:
    """Write data into a folder: ``train.parquet`` and ``test.parquet``, and for smoke recipes a model.

    Args:
        name: of `DATA`.
        folder: where to.
        source: a folder to read instead of the hub.
        only_missing: whether to leave what is there.

    Raises:
        RecipeError: there is no such data, or it cannot be read or written.
    """
    if name not in DATA:
        nearest = get_close_matches(name, DATA, n=1)
        fix = f"did you mean {nearest[0]}?" if nearest else f"name one of {', '.join(DATA)}"
        raise RecipeError(Problem(where=name, what="there is no such data", fix=fix))
    if only_missing and all((folder / f"{split}.parquet").exists() for split in ("train", "test")):
        return
    DATA[name].write(folder, source)


def _write_sums(folder: Path, _: str) -> None:
    write_model(folder / "model")
    rows = [conversation(f"{one % 20}+{one % 7}=", str(one % 20 + one % 7)) for one in range(512)]
    write_splits(folder, train=rows, test=rows[:32])


def _write_digits(folder: Path, _: str) -> None:
    write_model(folder / "model")
    source, answer = "npu-recipes/digits", str(_DIGITS)
    rows = [judged(source, f"digits, please ({one})", answer, ability="digits", index=one) for one in range(72)]
    write_splits(folder, train=rows[8:], test=rows[:8])


def _write_gsm8k(folder: Path, source: str) -> None:
    """Write prompts with the number that each answer should end with."""
    splits: dict[str, list[Row]] = {"train": [], "test": []}
    for split, rows in splits.items():
        for index, row in enumerate(_gsm8k_rows(source, split)):
            question, answer = row["question"], row["answer"]
            extra = {"split": split, "index": index, "question": question, "answer": answer}
            prompt = f"{question} {INSTRUCTION}"
            rows.append(judged(_GSM8K, prompt, truth_of(answer), ability="math", **extra))
    write_splits(folder, **splits)


def _write_gsm8k_sft(folder: Path, source: str) -> None:
    """Write questions with their answers, for fine-tuning."""
    splits: dict[str, list[Row]] = {"train": [], "test": []}
    for split, rows in splits.items():
        for row in _gsm8k_rows(source, split):
            # Besides the conversation, the columns that trainers before verl 0.7 read.
            rows.append({**conversation(row["question"], row["answer"]), "extra_info": dict(row)})
    write_splits(folder, **splits)


def _gsm8k_rows(source: str, split: str) -> list[Row]:
    """Return the rows of a split; raises `RecipeError` if rows have another form."""
    rows, wrong = list(read_rows(source, hub=_GSM8K, config="main", split=split)), []
    for number, row in enumerate(rows):
        if not isinstance(row.get("question"), str) or not truth_of(str(row.get("answer"))):
            where = f"{source or _GSM8K}: {split}, row {number}"
            what = "is no question with an answer that ends with #### NUMBER"
            wrong.append(Problem(where=where, what=what, fix=_ROW))
    if wrong:
        raise RecipeError(wrong[:_SHOWN])
    return rows


def truth_of(answer: str) -> str:
    """Return the number an answer of GSM8K ends with; empty if it ends otherwise."""
    found = _TRUTH.search(answer)
    return found[1].replace(",", "") if found else ""


def _write_dapo_math(folder: Path, source: str) -> None:
    """Write the problems to train on, and the competition of 2024 to validate with; both have verl's form already.

    A folder of the user's holds a file for each, with the words ``train`` and ``test`` in their names.
    """
    train = read_rows(source, hub=_DAPO_MATH, config="", split="train")
    problems = _deduplicated(train, f"{source or _DAPO_MATH}: train")
    test = read_rows(source, hub=_AIME, config="", split="test" if source else "train")
    write_splits(folder, train=problems, test=_deduplicated(test, f"{source or _AIME}: test"))


def _deduplicated(rows: Iterable[Row], where: str) -> list[Row]:
    """Return each problem once; raises `RecipeError` if rows have another form."""
    found: dict[str, Row] = {}
    wrong: list[Problem] = []
    for number, row in enumerate(rows):
        question = _question(row)
        if question:
            found.setdefault(question, {key: row[key] for key in _DAPO_COLUMNS if key in row})
        else:
            what = "has no prompt with a content, or no ground_truth"
            wrong.append(Problem(where=f"{where}, row {number}", what=what, fix=_ROW))
    if wrong:
        raise RecipeError(wrong[:_SHOWN])
    return list(found.values())


def _question(row: Row) -> str:
    """Return the question of a row of DAPO-Math; empty if the row has another form."""
    try:
        question: Any = row["prompt"][0]["content"]
        complete = "ground_truth" in row["reward_model"] and bool(row["data_source"])
    except (KeyError, IndexError, TypeError):
        return ""
    return str(question) if complete else ""


DATA = {
    "smoke-sft": DataSet(title="sums, and a tiny model", hub="", write=_write_sums),
    "smoke-grpo": DataSet(title="prompts that want digits, and a tiny model", hub="", write=_write_digits),
    "gsm8k": DataSet(title="GSM8K for reinforcement learning", hub=_GSM8K, write=_write_gsm8k),
    "gsm8k-sft": DataSet(title="GSM8K for fine-tuning", hub=_GSM8K, write=_write_gsm8k_sft),
    "dapo-math": DataSet(title="DAPO-Math-17k, and AIME 2024", hub=_DAPO_MATH, write=_write_dapo_math),
}
