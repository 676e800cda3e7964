"""`compare`: exit codes, text, JSON by its schema, and a page."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any

import pytest

from ..samples import REWARD, Log, compare, log, write_console, write_csv, write_file_log, write_text

SCHEMA = json.loads((Path(__file__).resolve().parents[3] / "docs" / "comparison.schema.json").read_text("utf-8"))


def mistakes(found: Any) -> list[str]:
    """Return what of a comparison is not as the schema has it."""
    import jsonschema  # noqa: PLC0415  # it builds parsers for three seconds, and every worker imports this module

    return [error.message for error in jsonschema.validators.validator_for(SCHEMA)(SCHEMA).iter_errors(found)]


@pytest.fixture
def gpu(tmp_path: Path) -> Path:
    return write_console(tmp_path / "gpu.log", log(range(1, 21)))


def npu(folder: Path, factor: float = 1.01) -> Path:
    return write_file_log(folder / "npu.jsonl", log(range(1, 21), factor=factor))


@pytest.mark.parametrize(("factor", "code"), [(1.01, 0), (1.03, 1), (1.05, 1)])
def test_the_exit_code_is_the_verdict(gpu: Path, tmp_path: Path, factor: float, code: int) -> None:
    assert compare(gpu, npu(tmp_path, factor)) == code


def test_the_text_says_all_of_it(gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records: Log = [(step, {**data, "actor/lr": 1e-6, "only": 1.0}) for step, data in log(range(1, 21), factor=1.03)]
    file = write_csv(tmp_path / "npu.csv", records)
    write_console(gpu, [(step, {**data, "actor/lr": 1e-6}) for step, data in log(range(1, 21))])
    assert compare(gpu, file) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"reference: {gpu} (console log, 20 steps from 1 to 20, 3 metrics)"
    heading, loss, reward = lines[3:6]
    assert heading.split("  ")[0] == "metric"
    assert loss.split() == ["train/loss", "beyond", "2.00%", "3.00%", "3.00%", *loss.split()[5:6], "1", "1", "20"]
    assert reward.split()[:4] == [REWARD, "within", "4.00%", "3.00%"]
    assert "1 more metrics have no limit: --all lists them, --limit gives them one" in lines
    assert "only the run has: only" in lines
    assert lines[-1] == "beyond the limit: train/loss (3.00%, limit 2.00%)"


def test_what_cannot_be_compared_is_said_beside_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for value in (math.nan, 0.0):
        without: Log = [(step, {**data, REWARD: value}) for step, data in log(range(1, 5))]
        files = [write_console(tmp_path / "a.log", without), write_console(tmp_path / "b.log", log(range(1, 5)))]
        said.append((compare(*files), capsys.readouterr().out.splitlines()[-1]))
    # A reference that is no number says nothing of the run; one that is zero says that the run is another.
    assert said == [
        (0, "within the limits: 1 of 1 metrics; 1 with a limit cannot be compared"),
        (2, "cannot be told"),
    ]


def test_all_lists_what_has_no_limit(gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare(gpu, npu(tmp_path), "--limit", "train/loss=none", "--all")
    assert "train/loss           not judged" in capsys.readouterr().out


@pytest.mark.parametrize("value", [1.0, math.nan, math.inf, 0.0])
def test_the_json_follows_its_schema(
    gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], value: float
) -> None:
    records: Log = [(step, {**data, "odd": value, REWARD: value}) for step, data in log(range(1, 21))]
    compare(gpu, write_console(tmp_path / "npu.log", records), "--json")
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert mistakes(found) == []
    assert {one["metric"] for one in found["metrics"]} == {REWARD, "train/loss"}
    assert found["only_run"] == ["odd"]


def test_the_schema_refuses_what_it_does_not_know(gpu: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare(gpu, gpu, "--json")
    found = json.loads(capsys.readouterr().out)
    damages: list[dict[str, object]] = [{"verdict": "fine"}, {"metrics": [{}]}, {"schema": 2}]
    for damage in damages:
        assert mistakes({**found, **damage}) != []


def test_what_cannot_be_told_is_2_and_still_shown(
    gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_console(tmp_path / "npu.log", [(step, {REWARD: 1.0}) for step in range(30, 40)])
    assert compare(gpu, other) == 2
    told = capsys.readouterr()
    assert "not comparable" in told.out
    said = "error: the comparison: no metric with a limit can be compared fix: look at the notes of critic/rewards/mean"
    assert said in " ".join(told.err.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["--limit", "x"],
        ["--limit", "a=b"],
        ["--steps", "1-5"],
        ["--steps", "5:1"],
        ["--min-steps", "0"],
        ["--min-steps", "-3"],
        ["--limits", "missing.yaml"],
        ["--html", "no/such/page.html"],
    ],
)
def test_wrong_usage_is_2_with_what_to_do(gpu: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(gpu, gpu, *arguments) == 2
    assert "error: " in capsys.readouterr().err


def test_a_pattern_that_a_shell_has_spread_is_told_of(gpu: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(gpu, gpu, "npu-1.log", "npu-2.log") == 2
    assert (
        "error: npu-1.log npu-2.log: is more than A and B\n    fix: put a pattern into quotes"
        in capsys.readouterr().err
    )


def test_all_wrong_options_are_told_at_once(gpu: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(gpu, gpu, "--limit", "x", "--limit", "y", "--steps", "z") == 2
    assert capsys.readouterr().err.count("error: ") == 3


def test_limits_of_a_file_yield_to_options(gpu: Path, tmp_path: Path) -> None:
    file = write_text(tmp_path / "limits.yaml", "'*': 0.1%\n")
    other = npu(tmp_path)
    assert compare(gpu, other, "--limits", file) == 1
    assert compare(gpu, other, "--limits", file, "--limit", "*=2%") == 0


def test_steps_bound_what_counts(gpu: Path, tmp_path: Path) -> None:
    records = [*log(range(1, 11)), *log(range(11, 21), factor=2.0)]
    other = write_console(tmp_path / "npu.log", records)
    assert [compare(gpu, other, "--steps", steps) for steps in (":10", "11:", "5:10", "5:11")] == [0, 1, 0, 1]


def test_a_run_that_is_its_own_reference_is_told_of(gpu: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(gpu, gpu) == 0
    assert "    is a reference, too: it is compared with itself\n" in capsys.readouterr().out


def test_a_run_that_is_named_twice_is_told_of(gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = write_console(tmp_path / "npu.log", log(range(1, 11)))
    assert compare(gpu, f"{other},{other}") == 0
    assert capsys.readouterr().out.count("    is named twice: it counts as two runs") == 1
    assert compare(gpu, other) == 0
    assert "is named twice" not in capsys.readouterr().out


@pytest.mark.parametrize(("named", "code", "said"), [("gpu", 0, True), ("npu", 1, False)])
def test_a_run_is_known_by_its_place_whatever_it_is_called(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], named: str, code: int, said: bool
) -> None:
    file = write_text(tmp_path / "runs.csv", "step,run,loss\n1,gpu,0.5\n1,npu,0.25\n")
    (tmp_path / "link.csv").symlink_to(file)
    assert compare(f"{file}#gpu", f"{tmp_path}/./link.csv#{named}") == code
    assert ("is a reference, too: it is compared with itself" in capsys.readouterr().out) is said


@pytest.mark.parametrize("row", ["{},{}", "{},train/loss,{}"])
def test_a_run_whose_cells_are_empty_from_its_middle_on_is_not_within(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: str
) -> None:
    head = "step,train/loss" if row.count(",") == 1 else "step,tag,value"
    files = [tmp_path / "gpu.csv", tmp_path / "npu.csv"]
    for file, last in zip(files, (100, 49), strict=True):
        lines = [row.format(step, 2.5 if step <= last else "") for step in range(1, 101)]
        file.write_text("\n".join([head, *lines]) + "\n", "utf-8")
    assert compare(*files) == 2
    assert "continues without it for 51 steps after step 49" in " ".join(capsys.readouterr().err.split())


def test_a_run_that_ended_early_can_be_refused(gpu: Path, tmp_path: Path) -> None:
    short = write_console(tmp_path / "npu.log", log(range(1, 4)))
    assert [compare(gpu, short, "--min-steps", number) for number in ("3", "4")] == [0, 2]


def test_a_page_is_written_whole_and_asks_for_nothing(gpu: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert compare(gpu, npu(tmp_path), "--html", file) == 0
    text = file.read_text("utf-8")
    assert text.count("<svg") == 2
    assert "<script" not in text
    # Names of XML's own vocabularies; nothing is loaded by them.
    assert {part.split('"')[0] for part in text.split("http:")[1:]} <= {
        "//www.w3.org/2000/svg",
        "//www.w3.org/1999/xlink",
    }
    assert "https:" not in text
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_page_takes_no_runs_place(gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = gpu.read_bytes()
    assert compare(gpu, npu(tmp_path), "--html", tmp_path / "." / gpu.name) == 2
    assert "is one of the runs" in capsys.readouterr().err
    assert gpu.read_bytes() == before


def test_a_page_takes_no_place_in_the_folder_of_a_run(gpu: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    file = write_file_log(folder / "metrics.jsonl", log(range(1, 21)))
    before = file.read_bytes()
    assert compare(gpu, folder, "--html", file) == 2
    assert file.read_bytes() == before


def test_a_page_is_written_whatever_bytes_a_name_has(gpu: Path, tmp_path: Path) -> None:
    """As in a file name of GBK, or in a name that was cut in the middle of a character."""
    name = os.fsdecode(b"\xc4\xe3.jsonl")
    file = tmp_path / name
    file.write_text('{"step": 1, "data": {"\\ud800": 1.0, "critic/rewards/mean": 1.1}}\n', "utf-8")
    page = tmp_path / "page.html"
    assert compare(gpu, file, "--html", page) == 0
    assert "\\udcc4\\udce3.jsonl" in page.read_text("utf-8")


@pytest.mark.thorough
def test_the_same_runs_give_the_same_page(gpu: Path, tmp_path: Path) -> None:
    other = npu(tmp_path)
    pages = [tmp_path / "one.html", tmp_path / "two.html"]
    for page in pages:
        compare(gpu, other, "--html", page)
    assert pages[0].read_bytes() == pages[1].read_bytes()


@pytest.mark.thorough
def test_time_grows_as_a_log_does(tmp_path: Path) -> None:
    def seconds(steps: int) -> float:
        data = {f"metric/{number}": 0.123456789 for number in range(10)}
        records: Log = [(step, {REWARD: 1 + step, **data}) for step in range(1, steps + 1)]
        file = write_console(tmp_path / "run.log", records)
        began = time.process_time()
        assert compare(file, file) == 0
        return time.process_time() - began

    seconds(100)
    short, long = seconds(5_000), seconds(50_000)
    assert long < 20 * short
