"""Console logs: everything that surrounds, interrupts or repeats the lines of each trainer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from ..samples import REWARD, Log, console_line, expected, log, read, values, write_console, write_text

Line = Callable[[int, Mapping[str, object]], str]
TRAINER = "console log of Hugging Face's Trainer"
MEGATRON = "console log of Megatron-LM"
COUNTED = "its records state no step: they are counted"


def megatron_line(step: int, data: Mapping[str, object]) -> str:
    return f" [2026-11-22 10:00:00] iteration {step:8d}/ 1000 | {' | '.join(f'{n}: {v!r}' for n, v in data.items())} |"


def mindspeed_line(step: int, data: Mapping[str, object]) -> str:
    return f"iteration: {step} / 1000 | {' | '.join(f'{n} : {v!r}' for n, v in data.items())} "


def swift_line(step: int, data: Mapping[str, object]) -> str:
    return str({**data, "global_step/max_steps": f"{step}/1000", "elapsed_time": "1m 2s"})


def trainer_line(step: int, data: Mapping[str, object]) -> str:
    """Return a line of newer versions, in which every number is a text."""
    del step
    return str({name: str(value) for name, value in data.items()})


# By trainer: a line, and the form it makes.
LINES: dict[str, tuple[Line, str]] = {
    "verl": (console_line, "console log"),
    "Megatron-LM": (megatron_line, MEGATRON),
    "MindSpeed-RL": (mindspeed_line, MEGATRON),
    "ms-swift": (swift_line, TRAINER),
    "Trainer": (trainer_line, TRAINER),
    "older Trainer": (lambda _, data: str(data), TRAINER),
}
by_trainer = pytest.mark.parametrize("trainer", LINES)

SURROUNDED = {
    "plain": "{line}",
    "ray": "(TaskRunner pid=4711) {line}",
    "ray on another node": "(TaskRunner pid=4711, ip=10.0.0.7) {line}",
    "ray in colour": "\x1b[36m(TaskRunner pid=4711)\x1b[0m {line}",
    "in colour to its end": "\x1b[32m{line}\x1b[0m",
    "ray with repetitions": "(TaskRunner pid=1) {line} [repeated 7x across cluster] (Ray deduplicates logs.)",
    "progress bar": "Training Progress:  10%|█         | 1/10 [00:03<00:27,  3.1s/it]\r{line}",
    "on one line with a progress bar": "Training Progress:  10%|█         | 1/10 {line}",
    "time and level": "2026-11-22 10:00:00,123 INFO {line}",
    "windows": "{line}\r",
    "torchrun": "[default3]:{line}",
    "srun": "3: {line}",
}


@by_trainer
@pytest.mark.parametrize("around", SURROUNDED.values(), ids=SURROUNDED)
def test_what_stands_around_a_line_is_passed_over(tmp_path: Path, around: str, trainer: str) -> None:
    records = log(range(1, 6))
    line_of, form = LINES[trainer]
    lines = ["{'actor_rollout_ref': {'model': 'step:1'}}", "step: one", "global_step:9 - lr:1"]
    lines += [around.format(line=line_of(step, data)) for step, data in records]
    file = write_text(tmp_path / "run.log", "\n".join(lines) + "\n", newline="\n")
    run = read(file)
    assert run.form == form
    assert values(run) == expected(records)
    assert values(run, "train/loss") == expected(records, "train/loss")
    assert list(run.metrics) == [REWARD, "train/loss"]
    assert run.notes == ((COUNTED,) if "Trainer" in trainer else ())


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0.5", 0.5),
        ("1e-05", 1e-05),
        ("np.float64(0.5)", 0.5),
        ("np.int64(3)", 3.0),
        ("True", 1.0),
        ("-inf", -math.inf),
        ("nan", math.nan),
        ("tensor(0.5, device='npu:0')", 0.5),
    ],
)
@pytest.mark.parametrize(
    "line",
    [
        "step:3 - actor/lr:{} - actor/entropy:0.25",
        " iteration 3/ 9 | actor/lr: {} | actor/entropy: 2.5E-01 |",
        "{{'actor/lr': {}, 'actor/entropy': '0.25', 'kl': None, 'step': 3}}",
    ],
)
def test_every_way_to_write_a_number_is_read(tmp_path: Path, line: str, written: str, value: float) -> None:
    file = write_text(tmp_path / "run.log", line.format(written) + "\n")
    run = read(file)
    assert list(run.metrics) == ["actor/lr", "actor/entropy"]
    assert values(run, "actor/lr") == {3: pytest.approx(value, nan_ok=True)}
    assert values(run, "actor/entropy") == {3: 0.25}


@pytest.mark.parametrize(
    "metric", ["val-core/a - b/reward/mean@1", "val-core/http://x:8000/y/acc", "a b/c", "奖励/均值"]
)
def test_a_metric_may_be_called_anything(tmp_path: Path, metric: str) -> None:
    records: Log = [(1, {"lr": 0.1, metric: 0.5, "z": 1.0}), (2, {"lr": 0.1, metric: 0.75, "z": 1.0})]
    run = read(write_console(tmp_path / "run.log", records))
    assert values(run, metric) == {1: 0.5, 2: 0.75}
    assert list(run.metrics) == ["lr", metric, "z"]


@by_trainer
@pytest.mark.parametrize("behind", ["", "\nTraceback (most recent call last):\n"])
def test_of_a_log_that_is_cut_off_nothing_wrong_is_read(tmp_path: Path, trainer: str, behind: str) -> None:
    """Unless something is printed behind a number that lost digits, which only a brace could tell."""
    records = log(range(1, 4))
    file = tmp_path / "run.log"
    lines = [LINES[trainer][0](step, data) for step, data in records]
    for lost in range(1, len(lines[-1])):
        file.write_text("\n".join(lines)[:-lost] + (behind if lines[-1].endswith("}") else ""), "utf-8")
        run = read(file)
        for metric in (REWARD, "train/loss"):
            assert values(run, metric).items() <= expected(records, metric).items()
            assert values(run, metric).items() >= expected(records[:2], metric).items()


def test_a_cut_line_is_told_of(tmp_path: Path) -> None:
    run = read(write_console(tmp_path / "run.log", log(range(1, 4)), end=""))
    assert run.notes == ("1 lines with metrics are cut off: the last value of each is left out",)


def console_text(trainer: str, records: Log) -> str:
    """Return what a trainer prints of records, with an epoch beside each."""
    write = LINES[trainer][0]
    return "\n".join(write(step, {**data, "epoch": step / 9}) for step, data in records)


def pieces(lines: list[str], width: int) -> list[str]:
    """Return lines as a terminal of that width has wrapped them."""
    found: list[str] = []
    for line in lines:
        found += [line[start : start + width] for start in range(0, len(line), width)]
    return found


@by_trainer
def test_a_second_run_appended_behind_a_cut_line_counts_alone(tmp_path: Path, trainer: str) -> None:
    first, second = log(range(1, 9)), log(range(1, 6), factor=2.0)
    file = tmp_path / "run.log"
    file.write_text(f"{console_text(trainer, first)[:-3]}{console_text(trainer, second)}\n", "utf-8")
    run = read(file)
    assert values(run) == expected(second)
    assert values(run, "train/loss") == expected(second, "train/loss")
    assert "begins again at step 1: several runs in one log; only the last of them counts" in run.notes


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    file = write_console(tmp_path / "run.log", log(range(1, 4)))
    file.write_bytes(b"\xff\xfe\x00 garbage\n" + file.read_bytes())
    assert values(read(file)) == expected(log(range(1, 4)))


@pytest.mark.parametrize("strip", [False, True])
@pytest.mark.parametrize("width", [*range(35, 75), 100, 120])
def test_of_lines_that_a_terminal_has_wrapped_nothing_wrong_is_read(tmp_path: Path, width: int, strip: bool) -> None:
    records: Log = [
        (step, {"a_b/lr": 1.25e-05 * step, REWARD: 0.75 * step, "train/loss": 12.5, "perf/mfu": 0.5 * step, "z": 0.25})
        for step in range(8, 12)
    ]
    records = [(step, {**data, "val/b": np.float64(step / 8)}) for step, data in records]
    whole = [f"\x1b[36m(TaskRunner pid=1)\x1b[0m {console_line(step, data)}" for step, data in records]
    plain = [line.replace("\x1b[36m", "").replace("\x1b[0m", "") for line in whole]
    wrapped = pieces(plain, width)
    file = write_text(tmp_path / "run.log", "".join(f"{line.rstrip() if strip else line}\n" for line in wrapped))
    run = read(file)
    assert list(run.metrics) == list(records[0][1])
    for metric in run.metrics:
        assert values(run, metric).items() <= expected(records, metric).items()
        lost = len(records) - len(values(run, metric))
        # Of the last value alone it cannot be told whether the number on the next line goes on with it.
        assert lost == 0 or (metric, metric in run.unread) == ("val/b", True)


@pytest.mark.parametrize("strip", [False, True])
@pytest.mark.parametrize("trainer", ["Megatron-LM", "ms-swift", "older Trainer"])
def test_lines_that_end_in_a_sign_are_joined_whole(tmp_path: Path, trainer: str, strip: bool) -> None:
    records: Log = [(step, {**data, "val/b": step / 8}) for step, data in log(range(1, 4))]
    whole = [f"(TaskRunner pid=1) {LINES[trainer][0](step, data)}" for step, data in records]
    file = tmp_path / "run.log"
    for width in range(80, 130):
        lines = pieces(whole, width)
        file.write_text("".join(f"{line.rstrip() if strip else line}\n" for line in lines), "utf-8")
        run = read(file)
        assert run.metrics.keys() == records[0][1].keys()
        for metric in run.metrics:
            assert values(run, metric) == expected(records, metric)


def test_a_dictionary_of_many_lines_is_one(tmp_path: Path) -> None:
    """As pprint and people write it; what follows it is no part of it."""
    file = write_text(
        tmp_path / "run.log", "{'loss': 0.5,\n 'grad_norm': 1.0,\n 'epoch': 1.0}\n{'config': {'loss': 1}}\n{'a': 1,\n"
    )
    run = read(file)
    assert {metric: values(run, metric) for metric in run.metrics} == {
        "loss": {1: 0.5},
        "grad_norm": {1: 1.0},
        "epoch": {1: 1.0},
    }
    assert run.notes == (COUNTED,)


@pytest.mark.parametrize(("rest", "value"), [("", 0.3), ("42", None), ("42 - z:1", 0.342), ("42 - a b", None)])
def test_a_number_behind_a_line_spoils_its_last_value_unless_metrics_follow(
    tmp_path: Path, rest: str, value: float | None
) -> None:
    file = write_text(tmp_path / "run.log", f"step:1 - {REWARD}:0.5\nstep:2 - {REWARD}:0.3\n{rest}\n")
    run = read(file)
    assert values(run) == {1: 0.5, **({2: value} if value else {})}
    assert run.unread == (
        {} if value else {REWARD: "1 of its values are no numbers and are left out, the first `0.3 42` in line 2"}
    )


@pytest.mark.parametrize(
    "line",
    [
        "validation generation end",
        "validation:0.5 - lr:0.1",
        "Training Progress:  20%|##  | 2/9 [00:03<00:09,  3.0s/it]",
        "0%|          | 0/9 [00:00<?, ?it/s]",
        "2026-11-24 10:00:00,123 - root - INFO - lr:0.1 - x:2",
        "[score] 0.0",
        "- list: 1",
    ],
)
def test_another_line_behind_one_with_metrics_changes_nothing(tmp_path: Path, line: str) -> None:
    records = log(range(1, 4))
    file = write_text(tmp_path / "run.log", "".join(f"{console_line(step, data)}\n{line}\n" for step, data in records))
    run = read(file)
    assert {metric: values(run, metric) for metric in run.metrics} == {
        metric: expected(records, metric) for metric in (REWARD, "train/loss")
    }
    assert (run.notes, run.unread) == ((), {})


@by_trainer
def test_a_run_that_was_resumed_leaves_behind_what_it_had_logged_for_later_steps(tmp_path: Path, trainer: str) -> None:
    """In one log, and in a log of each start; the Trainer's records are told by their epochs."""
    starts = [log(range(1, 9)), log(range(6, 11), factor=2.0)]
    files = [tmp_path / "1.log", tmp_path / "2.log"]
    for file, records in zip(files, starts, strict=True):
        lines = [LINES[trainer][0](step, {**data, "epoch": step / 9}) for step, data in records]
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    both = write_text(tmp_path / "both.log", "".join(file.read_text("utf-8") for file in files))
    for name in (both, Path("+".join(map(str, files)))):
        run = read(name)
        assert values(run) == {**expected(starts[0][:5]), **expected(starts[1])}
        assert any(note.startswith("goes back from step 8 to 6: it was resumed") for note in run.notes)


@pytest.mark.parametrize(
    ("lines", "form", "notes"),
    [
        (
            ["{'loss': 9.0, 'epoch': 1.0}"],
            "console log",
            ["1 records that state no step are left out, beside those of verl"],
        ),
        (
            [" iteration 1/ 9 | lm loss: 1 |"],
            "console log",
            ["1 records of Megatron-LM are left out, beside those of verl"],
        ),
    ],
)
def test_of_a_log_with_records_of_several_forms_one_form_counts(
    tmp_path: Path, lines: list[str], form: str, notes: list[str]
) -> None:
    file = write_text(
        tmp_path / "run.log", "\n".join([*lines, "step:1 - loss:1.0 - lr:0.1", *lines]).replace(lines[0], "", 1) + "\n"
    )
    run = read(file)
    assert (run.form, values(run, "loss"), list(run.notes)) == (form, {1: 1.0}, notes)


def test_of_processes_that_state_no_step_one_counts(tmp_path: Path) -> None:
    file = tmp_path / "run.log"
    both = product((1, 2, 3), (0, 1))
    lines = [f"[rank{rank}]: {{'loss': {step + rank / 8}, 'epoch': {step / 9}}}" for step, rank in both]
    file.write_text("\n".join(lines) + "\n", "utf-8")
    run = read(file)
    assert values(run, "loss") == {1: 1.0, 2: 2.0, 3: 3.0}
    assert run.notes == (COUNTED, "3 records of another process are left out, beside those that state no step")


GLUED = {
    "message": "0.5INFO 11-24 10:00:00 worker up",
    "progress bar": "0.5\x1b[36m(TaskRunner pid=9)\x1b[0m Training Progress:  5%|5  | 1/9 [00:01<00:02,  3.0s/it]",
    "clock": "0.5 2026-11-22 10:00:00",
    "numpy": "np.float64(0.5)(TaskRunner pid=9) 1",
    "nan": "nan (TaskRunner pid=9)",
}


@pytest.mark.parametrize("behind", ["", " - train/loss:1.0"])
@pytest.mark.parametrize("written", GLUED.values(), ids=GLUED)
def test_a_value_with_something_glued_to_it_is_told_of_and_makes_no_metric(
    tmp_path: Path, written: str, behind: str
) -> None:
    file = write_text(
        tmp_path / "run.log", f"step:1 - a b:1 - {REWARD}:2.0{behind}\nstep:2 - a b:1 - {REWARD}:{written}{behind}\n"
    )
    run = read(file)
    assert values(run) == {1: 2.0}
    assert list(run.metrics) == ["a b", REWARD, *(["train/loss"] if behind else [])]
    assert run.unread[REWARD].startswith("1 of its values are no numbers and are left out, the first `")
    assert run.unread[REWARD].endswith("in line 2")


@pytest.mark.parametrize("metric", ["val/AIME:2024_I/acc", "val/qwen:2.5-7b/acc", "val/http://x:8000/y - b/acc"])
def test_a_number_in_a_name_is_no_value(tmp_path: Path, metric: str) -> None:
    run = read(write_console(tmp_path / "run.log", [(1, {"lr": 0.1, metric: 0.5, "z": 1.0})]))
    assert {name: values(run, name) for name in run.metrics} == {"lr": {1: 0.1}, metric: {1: 0.5}, "z": {1: 1.0}}
    assert run.unread == {}


_PRINTED = [{"loss": 2.0 - step / 7, "grad_norm": 1.0, "epoch": step / 9} for step in range(1, 5)]


def _rounded(record: dict[str, float]) -> str:
    return f"[INFO|callbacks:1] >> {{'loss': {record['loss']:.4f}, 'epoch': {record['epoch']:.2f}}}"


@pytest.mark.parametrize("second", [repr, _rounded])
@pytest.mark.parametrize("first", [repr, _rounded])
def test_records_that_are_printed_twice_count_once(
    tmp_path: Path, first: Callable[[dict[str, float]], str], second: Callable[[dict[str, float]], str]
) -> None:
    file = tmp_path / "run.log"
    printed = [f"{first(one)}\n{second(one)}" for one in _PRINTED]
    file.write_text("\n".join([*printed[:2], "{'eval_loss': 1.5, 'eval_runtime': 1.0}", *printed[2:], ""]), "utf-8")
    run = read(file)
    losses = {step: round(one["loss"], 4) for step, one in enumerate(_PRINTED, 1)}
    assert {step: round(value, 4) for step, value in values(run, "loss").items()} == losses
    assert values(run, "eval_loss") == {2: 1.5}
    assert run.notes == (COUNTED, "each is printed twice and counts once")


@pytest.mark.parametrize("loss", [0.0, float("nan")])
def test_records_of_a_run_that_stands_still_are_all_counted(tmp_path: Path, loss: float) -> None:
    file = write_text(tmp_path / "run.log", f"{{'loss': {loss}, 'grad_norm': 0.0, 'epoch': 0.01}}\n" * 4)
    run = read(file)
    assert (list(values(run, "loss")), run.notes) == ([1, 2, 3, 4], (COUNTED,))
