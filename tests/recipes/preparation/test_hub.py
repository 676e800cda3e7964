"""The hub: data sets as they lie there, asked for by the library that verl brings."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from npu_recipes.preparation.data_sets import INSTRUCTION
from verl_stacks import STACKS

from ..stacks import Recipes, installed
from .hub import Repositories, hub

pytestmark = [pytest.mark.index, pytest.mark.thorough]
QUESTION = {"question": "6 x 12?", "answer": "6 x 12 is <<6*12=72>>72\n#### 72"}
OTHER = {"question": "1 + 1?", "answer": "#### 2"}
# Two configurations, of which the other has no data for training: it would be an error to take it.
CARD = """\
---
configs:
- config_name: main
  data_files:
  - {split: train, path: main/train-*}
  - {split: test, path: main/test-*}
- config_name: socratic
  data_files:
  - {split: test, path: socratic/test-*}
---
"""


@pytest.fixture(scope="module")
def recipes(shared: Path) -> Recipes:
    return installed(STACKS[0], shared)


def lines(*rows: dict[str, Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


GSM8K: Repositories = {
    "openai/gsm8k": {
        "README.md": CARD.encode(),
        "main/train-00000-of-00001.jsonl": lines(QUESTION, OTHER),
        "main/test-00000-of-00001.jsonl": lines(OTHER),
        "socratic/test-00000-of-00001.jsonl": lines(QUESTION),
    }
}


def problem(question: str) -> dict[str, Any]:
    return {
        "data_source": "math_dapo",
        "prompt": [{"role": "user", "content": question}],
        "ability": "MATH",
        "reward_model": {"ground_truth": "2", "style": "rule-lighteval/MATH_v2"},
        "extra_info": {"index": "a"},
    }


# As there: one file each, no card, and every problem many times.
DAPO: Repositories = {
    "BytedTsinghua-SIA/DAPO-Math-17k": {
        "data/dapo-math-17k.jsonl": lines(*[problem("1 + 1?")] * 100, *[problem("3 - 1?")] * 100)
    },
    "BytedTsinghua-SIA/AIME-2024": {"data/aime-2024.jsonl": lines(*[problem("4 - 2?")] * 32)},
}


def prepared(recipes: Recipes, name: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ``npu-recipes data`` where nothing was fetched before."""
    variables = {"HF_HOME": str(folder / "home"), "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_TELEMETRY": "1", **variables}
    return recipes.run("-m", "npu_recipes", "data", name, "--output", folder / "out", before=(), **variables)


def read(recipes: Recipes, file: Path) -> list[dict[str, Any]]:
    """Return the rows of a parquet file, read as verl reads it."""
    program = "import datasets, json, sys; print(json.dumps(list(datasets.Dataset.from_parquet(sys.argv[1]))))"
    done = recipes.run("-c", program, file, HF_HOME=str(file.parent / "home"))
    assert done.returncode == 0, done.stderr[-2000:]
    rows: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return rows


def test_gsm8k_is_had_from_the_hub(recipes: Recipes, tmp_path: Path) -> None:
    with hub(GSM8K) as address:
        done = prepared(recipes, "gsm8k", tmp_path, HF_ENDPOINT=address)

    assert done.returncode == 0, done.stderr[-3000:]
    rows = read(recipes, tmp_path / "out" / "train.parquet")
    assert [row["prompt"][0]["content"] for row in rows] == [f"6 x 12? {INSTRUCTION}", f"1 + 1? {INSTRUCTION}"]
    assert [row["reward_model"]["ground_truth"] for row in rows] == ["72", "2"]
    (tested,) = read(recipes, tmp_path / "out" / "test.parquet")
    assert tested["extra_info"] == {**OTHER, "split": "test", "index": 0}


def test_of_dapo_math_every_problem_is_had_once(recipes: Recipes, tmp_path: Path) -> None:
    with hub(DAPO) as address:
        done = prepared(recipes, "dapo-math", tmp_path, HF_ENDPOINT=address)

    assert done.returncode == 0, done.stderr[-3000:]
    rows = {split: read(recipes, tmp_path / "out" / f"{split}.parquet") for split in ("train", "test")}
    assert [row["prompt"][0]["content"] for row in rows["train"]] == ["1 + 1?", "3 - 1?"]
    assert [row["prompt"][0]["content"] for row in rows["test"]] == ["4 - 2?"]


def test_a_hub_without_the_data_is_named(recipes: Recipes, tmp_path: Path) -> None:
    with hub({}) as address:
        done = prepared(recipes, "gsm8k", tmp_path, HF_ENDPOINT=address)

    assert done.returncode == 2
    assert f"error: openai/gsm8k: is not on {address}, or not for everybody\n" in done.stderr
    assert (
        "    fix: set HF_ENDPOINT to a mirror, or download it elsewhere and name it: --source FOLDER\n" in done.stderr
    )
    assert not (tmp_path / "out").exists()


def test_a_hub_that_does_not_answer_is_named(recipes: Recipes, tmp_path: Path) -> None:
    with hub({}) as address:
        pass
    done = prepared(recipes, "gsm8k", tmp_path, HF_ENDPOINT=address)

    assert done.returncode == 2
    assert f"error: openai/gsm8k: {address} cannot be reached: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_machine_that_may_not_ask_is_told_apart(recipes: Recipes, tmp_path: Path) -> None:
    done = prepared(recipes, "gsm8k", tmp_path, HF_HUB_OFFLINE="1")

    assert done.returncode == 2
    assert "error: openai/gsm8k: was not fetched before, and HF_HUB_OFFLINE forbids asking for it\n" in done.stderr


def test_both_files_are_replaced_or_neither(recipes: Recipes, tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    for split in ("train", "test"):
        (source / f"{split}.jsonl").write_bytes(lines(QUESTION))
    (out / "test.parquet").mkdir(parents=True)
    (out / "train.parquet").write_text("old", "utf-8")
    arguments = ("-m", "npu_recipes", "data", "gsm8k", "--source", source, "--output", out)
    done = recipes.run(*arguments)

    assert done.returncode == 2
    assert "test.parquet: is no file\n" in done.stderr
    assert (out / "train.parquet").read_text("utf-8") == "old"
    (out / "test.parquet").rmdir()
    assert recipes.run(*arguments).returncode == 0
    assert read(recipes, out / "train.parquet") != read(recipes, out / "test.parquet")
