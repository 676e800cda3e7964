"""Console logs: everything that surrounds, interrupts or repeats verl's lines."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ..samples import REWARD, Log, console_line, expected, log, read, values, write_console

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
}


@pytest.mark.parametrize("around", SURROUNDED.values(), ids=SURROUNDED)
def test_what_stands_around_a_line_is_passed_over(tmp_path: Path, around: str) -> None:
    records = log(range(1, 6))
    lines = ["{'actor_rollout_ref': {'model': 'step:1'}}", "step: one", "global_step:9 - lr:1"]
    lines += [around.format(line=console_line(step, data)) for step, data in records]
    file = tmp_path / "run.log"
    file.write_text("\n".join(lines) + "\n", "utf-8", newline="\n")
    run = read(file)
    assert run.form == "console log"
    assert values(run) == expected(records)
    assert values(run, "train/loss") == expected(records, "train/loss")
    assert list(run.metrics) == [REWARD, "train/loss"]
    assert run.notes == ()


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0.5", 0.5),
        ("1e-05", 1e-05),
        ("np.float64(0.5)", 0.5),
        ("np.int64(3)", 3.0),
        ("True", 1.0),
        ("-inf", -math.inf),
    ],
)
def test_every_way_to_write_a_number_is_read(tmp_path: Path, written: str, value: float) -> None:
    file = tmp_path / "run.log"
    file.write_text(f"step:3 - actor/lr:{written} - actor/entropy:0.25\n", "utf-8")
    assert values(read(file), "actor/lr") == {3: value}
    assert values(read(file), "actor/entropy") == {3: 0.25}


def test_nan_is_a_value(tmp_path: Path) -> None:
    file = tmp_path / "run.log"
    file.write_text("step:3 - train/loss:nan\n", "utf-8")
    assert math.isnan(values(read(file), "train/loss")[3])


@pytest.mark.parametrize(
    "metric", ["val-core/a - b/reward/mean@1", "val-core/http://x:8000/y/acc", "a b/c", "奖励/均值"]
)
def test_a_metric_may_be_called_anything(tmp_path: Path, metric: str) -> None:
    records: Log = [(1, {"lr": 0.1, metric: 0.5, "z": 1.0}), (2, {"lr": 0.1, metric: 0.75, "z": 1.0})]
    run = read(write_console(tmp_path / "run.log", records))
    assert values(run, metric) == {1: 0.5, 2: 0.75}
    assert list(run.metrics) == ["lr", metric, "z"]


@pytest.mark.parametrize("lost", range(1, 60))
def test_of_a_log_that_is_cut_off_nothing_wrong_is_read(tmp_path: Path, lost: int) -> None:
    records = log(range(1, 4))
    file = write_console(tmp_path / "run.log", records, end="")
    file.write_bytes(file.read_bytes()[:-lost])
    run = read(file)
    for metric in run.metrics:
        assert values(run, metric).items() <= expected(records, metric).items()
    assert values(run).items() >= expected(records[:2]).items()


def test_a_cut_line_is_told_of(tmp_path: Path) -> None:
    run = read(write_console(tmp_path / "run.log", log(range(1, 4)), end=""))
    assert run.notes == ("1 lines with metrics are cut off: the last value of each is left out",)


def test_a_second_run_appended_behind_a_cut_line_counts_alone(tmp_path: Path) -> None:
    first, second = log(range(1, 9)), log(range(1, 6), factor=2.0)
    file = write_console(tmp_path / "run.log", first, end="")
    cut = file.read_text("utf-8")[:-3]
    file.write_text(cut + "\n".join(console_line(step, data) for step, data in second) + "\n", "utf-8")
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
    wrapped = [line[start : start + width] for line in plain for start in range(0, len(line), width)]
    file = tmp_path / "run.log"
    file.write_text("".join(f"{line.rstrip() if strip else line}\n" for line in wrapped), "utf-8")
    run = read(file)
    assert list(run.metrics) == list(records[0][1])
    for metric in run.metrics:
        assert values(run, metric).items() <= expected(records, metric).items()
        lost = len(records) - len(values(run, metric))
        # Of the last value alone it cannot be told whether the number on the next line goes on with it.
        assert lost == 0 or (metric, metric in run.unread) == ("val/b", True)


@pytest.mark.parametrize(("rest", "value"), [("", 0.3), ("42", None), ("42 - z:1", 0.342), ("42 - a b", None)])
def test_a_number_behind_a_line_spoils_its_last_value_unless_metrics_follow(
    tmp_path: Path, rest: str, value: float | None
) -> None:
    file = tmp_path / "run.log"
    file.write_text(f"step:1 - {REWARD}:0.5\nstep:2 - {REWARD}:0.3\n{rest}\n", "utf-8")
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
    file = tmp_path / "run.log"
    file.write_text("".join(f"{console_line(step, data)}\n{line}\n" for step, data in records), "utf-8")
    run = read(file)
    assert {metric: values(run, metric) for metric in run.metrics} == {
        metric: expected(records, metric) for metric in (REWARD, "train/loss")
    }
    assert (run.notes, run.unread) == ((), {})


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
    file = tmp_path / "run.log"
    file.write_text(f"step:1 - a b:1 - {REWARD}:2.0{behind}\nstep:2 - a b:1 - {REWARD}:{written}{behind}\n", "utf-8")
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
