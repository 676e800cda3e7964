"""Trainers: what they wrote of one small run, and printed, in the folder `logs`; and what other tools write of theirs.

Hugging Face's Trainer wrote it, with the callbacks of LLaMA-Factory and ms-swift; that in Megatron-LM's form is ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from npu_recipes.errors import RecipeError
from npu_recipes.runs import read_groups

from ..samples import compare, read, values

LOGS = Path(__file__).parent / "logs"
LOSSES = {3: 3.995, 6: 3.577, 9: 3.264, 12: 3.164}
OF_VALIDATION = {6: 3.364, 12: 3.072}
STATE = json.loads((LOGS / "trainer_state.json").read_text("utf-8"))
RECORDS: list[dict[str, Any]] = STATE["log_history"]


@pytest.mark.parametrize("name", sorted(file.name for file in LOGS.iterdir()))
def test_what_a_trainer_wrote_is_read(name: str) -> None:
    run = read(LOGS / name)
    loss, validation = ("lm loss", "lm loss validation") if name == "megatron.log" else ("loss", "eval_loss")
    # The Trainer itself prints no steps: every third had a record.
    every = 3 if name == "trainer.log" else 1
    assert {every * step: round(value, 3) for step, value in values(run, loss).items()} == LOSSES
    assert {every * step: round(value, 3) for step, value in values(run, validation).items()} == OF_VALIDATION
    assert run.counted == (name == "trainer.log")
    # What sums up the whole training is of no step.
    assert not {"train_loss", "train_runtime", "best_metric", "global_step"} & {*run.metrics, *run.unread}


@pytest.mark.parametrize("one", ["trainer_state.json", "megatron.log"])
@pytest.mark.parametrize("other", ["trainer_log.jsonl", "logging.jsonl", "ms-swift.log", "megatron.log"])
def test_logs_of_several_trainers_compare(one: str, other: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(LOGS / one, LOGS / other) == 0
    assert "within the limits: 2 of 2 metrics\n" in capsys.readouterr().out


@pytest.mark.parametrize("sides", [("trainer.log", "trainer_state.json"), ("logging.jsonl", "trainer.log")])
def test_records_that_were_counted_are_not_taken_for_other_steps(
    sides: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(*(LOGS / name for name in sides)) == 2
    told = capsys.readouterr()
    assert "its step 3 is not that of " in told.err
    assert "steps were counted, and their epochs differ" in told.err
    assert told.out.endswith("cannot be told\n")
    assert compare(LOGS / "trainer.log", LOGS / "trainer.log") == 0


def _column(name: str) -> list[object]:
    return [one.get(name) for one in RECORDS]


DOCUMENTS: dict[str, object] = {
    "the state": STATE,
    "a list": RECORDS,
    "deeper": {"version": 1, "trainer": {"args": {"step": 5}, "state": STATE}},
    "by index": {str(number): record for number, record in enumerate(RECORDS)},
    "columns": {"history": {name: _column(name) for name in ("step", "loss", "eval_loss")}},
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_list_of_records_is_found_in_a_document(tmp_path: Path, document: object, indent: int | None) -> None:
    file = tmp_path / "run"
    file.write_text(json.dumps(document, indent=indent), "utf-8")
    run = read(file)
    assert {step: round(value, 3) for step, value in values(run, "loss").items()} == LOSSES
    assert {step: round(value, 3) for step, value in values(run, "eval_loss").items()} == OF_VALIDATION
    assert (run.form, run.notes) == ("history (JSON)", ())


@pytest.mark.parametrize("indent", [None, 2])
def test_numbers_that_are_written_as_texts_are_read(tmp_path: Path, indent: int | None) -> None:
    file = tmp_path / "trainer_state.json"
    records = []
    for one in RECORDS:
        texts = {name: str(value) for name, value in one.items()}
        records.append({**texts, "step": one["step"], "elapsed": "0:01"})
    file.write_text(json.dumps({**STATE, "log_history": records}, indent=indent), "utf-8")
    run = read(file)
    assert {step: round(value, 3) for step, value in values(run, "loss").items()} == LOSSES
    assert {*run.unread} == {"elapsed"}
    assert compare(file, LOGS / "trainer_state.json") == 0


def test_lines_of_json_that_are_written_twice_count_once(tmp_path: Path) -> None:
    file = tmp_path / "logging.jsonl"
    lines = (LOGS / "logging.jsonl").read_text("utf-8").splitlines()
    file.write_text("".join(f"{line}\n{line}\n" for line in lines), "utf-8")
    run = read(file)
    assert {step: round(value, 3) for step, value in values(run, "loss").items()} == LOSSES
    assert run.notes == read(LOGS / "logging.jsonl").notes


def test_of_several_lists_of_records_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    lists = {
        "a": [{"step": 1, "loss": 1.5}, {"step": 2, "loss": 2.5}],
        "b": [{"step": 1, "loss": 1}, {"step": 2, "loss": 2}],
    }
    file.write_text(json.dumps({"runs": lists}), "utf-8")
    with pytest.raises(RecipeError, match=r"several runs: runs/a, runs/b\n    fix: name one: '.*run.json#runs/a'"):
        read(file)
    ((run,),) = read_groups(f"{file}#runs/b")
    assert values(run, "loss") == {1: 1.0, 2: 2.0}


@pytest.mark.parametrize(
    "step", ["step", "train/global_step", "global_step", "global_step/max_steps", "current_steps", "iteration", "iter"]
)
def test_the_step_has_many_names(tmp_path: Path, step: str) -> None:
    """The Trainer gives wandb several records a step, each of which gets a number."""
    file = tmp_path / "run.jsonl"
    written: list[object] = ["4/12", "8/12"] if step == "global_step/max_steps" else [4, 8]
    other = {"_step": 70} if step == "train/global_step" else {}
    lines = [json.dumps({**other, step: at, "loss": 0.5}) for at in written]
    file.write_text("\n".join(lines) + "\n", "utf-8")
    assert values(read(file), "loss") == {4: 0.5, 8: 0.5}


def test_what_megatron_prints_of_validation_has_the_names_of_its_tensorboard(tmp_path: Path) -> None:
    file = tmp_path / "run.log"
    said = [
        " validation loss at iteration 4 | lm loss value: 2.0 | lm loss PPL: 7.4E+00 | ",
        " validation loss at iteration 8 on test set | lm loss value: 1.0 | lm loss PPL: 2.7E+00 | ",
        " validation loss at the end of training for val data | lm loss value: 1.5 | lm loss PPL: 4.5E+00 | ",
        " validation results at iteration 12 | lm_loss value: 1.25 | ",
    ]
    file.write_text("\n".join([" iteration 8/ 8 | lm loss: 3.0 |", *said, ""]), "utf-8")
    run = read(file)
    assert {metric: values(run, metric) for metric in run.metrics} == {
        "lm loss": {8: 3.0},
        "lm loss validation": {4: 2.0, 8: 1.5},
        "lm loss validation ppl": {4: 7.4, 8: 4.5},
        "lm loss test": {8: 1.0},
        "lm loss test ppl": {8: 2.7},
        "lm_loss validation": {12: 1.25},
    }
