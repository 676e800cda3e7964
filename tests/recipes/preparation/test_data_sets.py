"""Preparing: data sets as the hub has them, as rows that verl reads."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from npu_recipes.errors import RecipeError
from npu_recipes.preparation import digits
from npu_recipes.preparation.data_sets import prepare, truth_of

QUESTION = {"question": "6 x 12?", "answer": "6 x 12 is <<6*12=72>>72\n#### 72"}
PROBLEM = {
    "data_source": "math_dapo",
    "prompt": [{"role": "user", "content": "1 + 1?"}],
    "ability": "MATH",
    "reward_model": {"ground_truth": "2", "style": "rule-lighteval/MATH_v2"},
    "extra_info": {"index": "a"},
    "more": 1,
}


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[dict[str, Any]]]:
    """Return what is written, by the file's name: pyarrow is where verl is, and is not asked here."""
    found: dict[str, list[dict[str, Any]]] = {}
    target = "npu_recipes.preparation.data_sets.write_splits"
    monkeypatch.setattr(target, lambda _folder, **splits: found.update(splits))
    return found


def place(folder: Path, **rows: list[dict[str, Any]]) -> str:
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return str(folder)


def test_gsm8k_becomes_prompts_with_their_truth(written: dict[str, Any], tmp_path: Path) -> None:
    prepare("gsm8k", tmp_path, source=place(tmp_path, main_train=[QUESTION], main_test=[QUESTION]))

    (row,) = written["train"]
    assert row["data_source"] == "openai/gsm8k"
    assert row["prompt"][0]["content"].startswith("6 x 12? ")
    assert row["reward_model"] == {"style": "rule", "ground_truth": "72"}
    assert row["extra_info"]["split"] == "train"
    assert written["test"][0]["extra_info"]["split"] == "test"


def test_gsm8k_becomes_conversations(written: dict[str, Any], tmp_path: Path) -> None:
    prepare("gsm8k-sft", tmp_path, source=place(tmp_path, train=[QUESTION], test=[QUESTION]))

    (row,) = written["train"]
    assert [one["role"] for one in row["messages"]] == ["user", "assistant"]
    assert row["extra_info"] == QUESTION


@pytest.mark.parametrize(
    ("answer", "truth"), [("#### 72", "72"), ("#### -1,234", "-1234"), ("72", ""), ("#### 7\nand more", "")]
)
def test_the_truth_is_the_number_at_the_end(answer: str, truth: str) -> None:
    assert truth_of(answer) == truth


def test_every_problem_of_dapo_is_there_once(written: dict[str, Any], tmp_path: Path) -> None:
    other = {**PROBLEM, "prompt": [{"role": "user", "content": "2 + 2?"}]}

    prepare("dapo-math", tmp_path, source=place(tmp_path, train=[PROBLEM, PROBLEM, other], test=[PROBLEM]))

    assert [row["prompt"][0]["content"] for row in written["train"]] == ["1 + 1?", "2 + 2?"]
    assert "more" not in written["train"][0]


@pytest.mark.parametrize(
    ("name", "row"), [("gsm8k", {"question": "a", "answer": "b"}), ("dapo-math", {"prompt": "a"}), ("gsm8k", {})]
)
def test_rows_of_another_form_are_named(
    written: dict[str, Any], tmp_path: Path, name: str, row: dict[str, Any]
) -> None:
    with pytest.raises(RecipeError, match="train, row 0"):
        prepare(name, tmp_path, source=place(tmp_path, train=[row], test=[row]))

    assert not written


@pytest.mark.parametrize(("name", "row"), [("gsm8k", QUESTION), ("dapo-math", PROBLEM)])
def test_where_rows_to_test_with_are_wrong_none_to_train_on_are_written(
    written: dict[str, Any], tmp_path: Path, name: str, row: dict[str, Any]
) -> None:
    with pytest.raises(RecipeError, match="test, row 1"):
        prepare(name, tmp_path, source=place(tmp_path, train=[row], test=[row, {}]))

    assert not written


def test_a_folder_without_the_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="holds none for train"):
        prepare("gsm8k", tmp_path, source=str(tmp_path))


@pytest.mark.parametrize(
    ("names", "lacking"),
    [
        (["Train-latest"], "test"),
        (["main_train", "contest"], "test"),
        (["train", "train-test"], "test"),
        (["train-test"], "train"),
    ],
)
@pytest.mark.usefixtures("written")
def test_a_split_is_a_word_of_its_own_in_the_name_of_its_own_file(
    tmp_path: Path, names: list[str], lacking: str
) -> None:
    source = place(tmp_path, **{name: [QUESTION] for name in names})

    with pytest.raises(RecipeError, match=f"holds none for {lacking}"):
        prepare("gsm8k", tmp_path, source=source)


@pytest.mark.parametrize(("name", "row"), [("gsm8k", QUESTION), ("dapo-math", PROBLEM)])
def test_one_file_is_not_both_to_train_on_and_to_test_with(
    written: dict[str, Any], tmp_path: Path, name: str, row: dict[str, Any]
) -> None:
    source = place(tmp_path, train=[row])

    with pytest.raises(RecipeError, match=r"train\.jsonl: is one file, for train and for test\n +fix: name a folder"):
        prepare(name, tmp_path, source=f"{source}/train.jsonl")

    assert not written


def test_a_source_that_is_not_there_is_called_so(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="there is no such file or folder"):
        prepare("gsm8k", tmp_path, source=str(tmp_path / "missing"))


def test_a_folder_with_two_is_refused(tmp_path: Path) -> None:
    source = place(tmp_path, train_a=[QUESTION], train_b=[QUESTION])

    with pytest.raises(RecipeError, match="holds 2 files for train"):
        prepare("gsm8k", tmp_path, source=source)


def test_a_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    source = place(tmp_path, test=[QUESTION])
    (tmp_path / "train.jsonl").write_text('{"question": ', "utf-8")

    with pytest.raises(RecipeError, match=r"train\.jsonl: cannot be read"):
        prepare("gsm8k", tmp_path, source=source)


def test_lines_end_where_json_says_so_and_may_be_blank(written: dict[str, Any], tmp_path: Path) -> None:
    row = {**QUESTION, "question": "one\u2028two"}
    source = place(tmp_path, test=[QUESTION])
    (tmp_path / "train.jsonl").write_text(f"{json.dumps(row, ensure_ascii=False)}\n\n{json.dumps(QUESTION)}\n", "utf-8")

    prepare("gsm8k-sft", tmp_path, source=source)

    assert [one["extra_info"] for one in written["train"]] == [row, QUESTION]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("train.json", '{"question": 1}', "it is no list of rows"),
        ("train.json", "[1]", "row 0 is no object"),
        ("train.jsonl", "{}\n\n[]", "row 1 is no object"),
        ("train.jsonl", '{}\n\n{"a": }', "line 3, column 7: Expecting value"),
    ],
)
def test_what_holds_no_rows_is_refused(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content, "utf-8")

    with pytest.raises(RecipeError, match=f"{name}: cannot be read: {said}"):
        prepare("gsm8k", tmp_path, source=str(tmp_path))


@pytest.mark.skipif(find_spec("pyarrow") is not None, reason="pyarrow is installed")
def test_without_what_reads_parquet_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "train.parquet").touch()

    with pytest.raises(RecipeError, match="pyarrow: is not installed"):
        prepare("gsm8k", tmp_path, source=str(tmp_path))


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="did you mean gsm8k"):
        prepare("gsm8", tmp_path, source="")


@pytest.mark.parametrize(("answer", "reward"), [("", 0), ("123abc", 0.25), ("0" * 12, 1)])
def test_the_reward_is_the_share_of_digits(answer: str, reward: float) -> None:
    assert digits.compute_score("", answer, "12", extra_info={}) == reward


@pytest.mark.parametrize("absent", ["torch", "transformers"])
def test_what_makes_the_tiny_model_and_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, absent: str
) -> None:
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(RecipeError, match=rf"{absent}: cannot be imported.*\n +fix: install verl-npu, ") as raised:
        prepare("smoke-sft", tmp_path, source="")
    assert raised.value.exit_code == 2
    assert not list(tmp_path.iterdir())
