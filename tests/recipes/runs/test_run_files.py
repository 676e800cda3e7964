"""Reading: which form a file has, and the same numbers of each."""

from __future__ import annotations

import gzip
import json
import math
import os
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from npu_recipes.errors import RecipeError
from npu_recipes.runs import read_groups

from ..samples import REWARD, Log, expected, log, read, values, write_console, write_csv, write_file_log, write_text

RECORDS = log(range(1, 6))


def flat(records: Log, step: str = "_step") -> list[dict[str, float]]:
    """Return records as wandb's history has them."""
    return [{step: at, **data, "_timestamp": 1.7e9} for at, data in records]


def write_json(file: Path, content: object) -> Path:
    file.write_text(json.dumps(content), "utf-8")
    return file


def columns(file: Path, records: Log) -> Path:
    """Write a history as pandas writes a frame."""
    return write_json(file, as_frame(flat(records)))


def as_frame(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return for each column its values by number."""
    frame: dict[str, dict[str, Any]] = {}
    for index, row in enumerate(rows):
        for name, value in row.items():
            frame.setdefault(name, {})[str(index)] = value
    return frame


def split(file: Path, records: Log) -> Path:
    """Write a history as pandas does where columns and data are apart."""
    rows = flat(records)
    return write_json(file, {"columns": list(rows[0]), "data": [list(row.values()) for row in rows]})


def lines(file: Path, records: Log) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in flat(records)), "utf-8")
    return file


def long(file: Path, records: Log) -> Path:
    """Write a line for each value, one metric after the other."""
    names = list(records[0][1])
    rows = [f"{step},{name},{data[name]}\n" for name, (step, data) in product(names, records)]
    file.write_text("".join(["step,tag,value\n", *rows]), "utf-8")
    return file


def of_wandb(file: Path, records: Log) -> Path:
    """Write what wandb's page exports of one run: each column with its extremes."""
    extremes: Log = []
    for step, data in records:
        row = {f"{name}{end}": data[name] for name, end in product(data, ("", "__MIN", "__MAX"))}
        extremes.append((step, row))
    return write_csv(file, extremes, step="Step", prefix="grpo - ")


FORMS: dict[str, tuple[Callable[[Path, Log], Path], str]] = {
    "console": (write_console, "console log"),
    "file logger": (write_file_log, "file logger (jsonl)"),
    "wandb, list": (lambda file, records: write_json(file, flat(records)), "history (JSON)"),
    "wandb, lines": (lines, "history (JSON)"),
    "wandb, columns": (columns, "history (JSON)"),
    "wandb, split": (split, "history (JSON)"),
    "wandb, history.csv": (lambda file, records: write_csv(file, records, step="_step"), "table (CSV)"),
    "wandb, page": (of_wandb, "table (CSV)"),
    "csv": (write_csv, "table (CSV)"),
    "csv, long": (long, "table (CSV)"),
}


@pytest.mark.parametrize(("write", "form"), FORMS.values(), ids=FORMS)
def test_every_form_gives_the_same_numbers(tmp_path: Path, write: Callable[[Path, Log], Path], form: str) -> None:
    # Its name tells nothing.
    run = read(write(tmp_path / "run.txt", RECORDS))
    assert run.form == form
    assert list(run.metrics) == [REWARD, "train/loss"]
    for metric in run.metrics:
        assert values(run, metric) == expected(RECORDS, metric)
    assert run.notes == ()


def test_a_table_of_tensorboards_page_has_its_metric_in_its_name(tmp_path: Path) -> None:
    file = write_text(tmp_path / "run-grpo-tag-train_loss.csv", "Wall time,Step,Value\n1.7e9,1,0.5\n1.7e9,2,0.25\n")
    assert values(read(file), "train_loss") == {1: 0.5, 2: 0.25}
    assert values(read(file.rename(tmp_path / "gpu.csv")), "Value") == {1: 0.5, 2: 0.25}


@pytest.mark.parametrize("delimiter", ["\t", ";"])
def test_a_table_may_have_other_delimiters_and_a_mark_of_its_encoding(tmp_path: Path, delimiter: str) -> None:
    file = write_csv(tmp_path / "run.csv", RECORDS)
    file.write_text("\ufeff" + file.read_text("utf-8").replace(",", delimiter), "utf-8")
    assert values(read(file)) == expected(RECORDS)


def test_an_empty_cell_was_not_logged(tmp_path: Path) -> None:
    file = write_text(tmp_path / "run.csv", "step,loss,val\n1,0.5,\n2,0.25,0.75\n3,nan\n")
    run = read(file)
    assert values(run, "val") == {2: 0.75}
    assert math.isnan(values(run, "loss")[3])


@pytest.mark.parametrize("write", [write_csv, lambda file, records: write_json(file, flat(records))])
def test_an_export_may_be_sorted_by_anything(tmp_path: Path, write: Callable[[Path, Log], Path]) -> None:
    falling, shuffled = RECORDS[::-1], [*RECORDS[2:], *RECORDS[:2]]
    assert values(read(write(tmp_path / "a", shuffled))) == expected(RECORDS)
    write(tmp_path / "b", [(step + len(RECORDS), data) for step, data in falling])
    both = values(read(Path(f"{write(tmp_path / 'a', falling)}+{tmp_path / 'b'}")))
    assert both == {**expected(RECORDS), **{step + len(RECORDS): one for step, one in expected(RECORDS).items()}}


@pytest.mark.parametrize("by_metric", [True, False])
def test_a_long_table_of_a_run_that_was_resumed_leaves_behind_what_a_wide_one_does(
    tmp_path: Path, by_metric: bool
) -> None:
    """Also where one of its metrics is logged seldom, and did not go back."""
    past = [(step, {REWARD: 1.0, **({"val": 1.0} if step == 10 else {})}) for step in range(1, 16)]
    resumed: Log = [*past, *((step, {REWARD: 2.0, **({"val": 2.0} if step == 20 else {})}) for step in range(12, 21))]
    lines: list[tuple[int, str, float]] = []
    for step, data in resumed:
        lines += [(step, name, value) for name, value in data.items()]
    if by_metric:
        lines.sort(key=lambda line: line[1])
    file = write_text(
        tmp_path / "long.csv", "step,tag,value\n" + "".join(f"{step},{tag},{value}\n" for step, tag, value in lines)
    )
    run, wide = read(file), read(write_csv(tmp_path / "wide.csv", resumed))
    assert [values(run, name) for name in (REWARD, "val")] == [values(wide, name) for name in (REWARD, "val")]
    assert values(run, "val") == {10: 1.0, 20: 2.0}
    assert run.notes[0] == wide.notes[0]
    assert run.notes[0].startswith("goes back from step 15 to 12: it was resumed")


def test_steps_that_a_long_table_has_left_behind_are_no_hole(tmp_path: Path) -> None:
    steps = (*range(1, 31), *range(11, 16))
    lines = [f"{step},{name},1\n" for name, step in product((REWARD, "lr"), steps)]
    (tmp_path / "long.csv").write_text("".join(["step,tag,value\n", *lines]), "utf-8")
    run = read(tmp_path / "long.csv")
    assert run.records is not None
    assert run.records.tolist() == [*range(1, 16)]


def test_an_export_of_several_runs_has_to_be_told_which(tmp_path: Path) -> None:
    file = write_text(tmp_path / "export.csv", "Step,gpu - loss,gpu - loss__MIN,npu - a - loss\n1,0.5,0.5,0.25\n")
    with pytest.raises(RecipeError, match=r"several runs: gpu, npu - a\n    fix: name one: '.*export.csv#gpu'"):
        read(file)
    ((one,), (other,)) = read_groups(f"{file}#gpu", f"{file}#npu - a")
    assert (values(one, "loss"), values(other, "loss")) == ({1: 0.5}, {1: 0.25})
    with pytest.raises(RecipeError, match="no run of that name; it has gpu, npu - a"):
        read_groups(f"{file}#tpu")


@pytest.mark.parametrize(
    "table",
    [
        "run,tag,step,value\ngpu,loss,1,0.5\nnpu,loss,1,0.25\n",
        "step,Run,loss\n1,gpu,0.5\n1,npu,0.25\n",
    ],
)
def test_a_table_may_name_the_run_of_each_line(tmp_path: Path, table: str) -> None:
    file = write_text(tmp_path / "runs.csv", table)
    ((one,), (other,)) = read_groups(f"{file}#gpu", f"{file}#npu")
    assert (values(one, "loss"), values(other, "loss")) == ({1: 0.5}, {1: 0.25})
    assert list(one.metrics) == ["loss"]
    with pytest.raises(RecipeError, match=r"several runs: gpu, npu\n    fix: name one: '.*runs.csv#gpu'"):
        read(file)
    with pytest.raises(RecipeError, match="no run of that name; it has gpu, npu"):
        read_groups(f"{file}#tpu")


HISTORIES: dict[str, Callable[[list[str]], str]] = {
    "lines": "\n".join,
    "one whole": lambda records: f"[{', '.join(records)}]",
    "columns": lambda records: json.dumps(as_frame(list(map(json.loads, records)))),
}


@pytest.mark.parametrize("form", HISTORIES)
def test_a_history_of_several_runs_has_to_be_told_which(tmp_path: Path, form: str) -> None:
    file = tmp_path / "runs.json"
    records = [
        '{"_step": 1, "loss": 1.5, "run_name": "gpu"}',
        '{"_step": 2, "loss": 2.5, "run_name": "gpu"}',
        '{"_step": 1, "loss": 1.25, "run_name": "npu"}',
        '{"_step": 2, "loss": 2.25, "run_name": "npu"}',
    ]
    file.write_text(HISTORIES[form](records), "utf-8")
    ((one,), (other,)) = read_groups(f"{file}#gpu", f"{file}#npu")
    assert (values(one, "loss"), values(other, "loss")) == ({1: 1.5, 2: 2.5}, {1: 1.25, 2: 2.25})
    assert (list(one.metrics), one.notes) == (["loss"], ())
    with pytest.raises(RecipeError, match=r"several runs: gpu, npu\n    fix: name one: '.*runs.json#gpu'"):
        read(file)
    with pytest.raises(RecipeError, match="no run of that name; it has gpu, npu"):
        read_groups(f"{file}#tpu")


def test_a_history_of_one_run_needs_no_name(tmp_path: Path) -> None:
    file = write_text(tmp_path / "run.json", '{"step": 1, "loss": 0.5, "run_name": "gpu"}\n{"step": 2, "loss": 0.25}\n')
    run = read(file)
    assert (values(run, "loss"), run.unread) == ({1: 0.5, 2: 0.25}, {})


def test_a_table_of_one_run_needs_no_name(tmp_path: Path) -> None:
    file = write_text(tmp_path / "run.csv", "step,run,loss\n1,gpu,0.5\n")
    assert values(read(file), "loss") == {1: 0.5}


@pytest.mark.parametrize(
    "content",
    [
        '{"step": 1, "loss": 2}',
        '[{"step": 1, "loss": 2}]',
        '{"step": 1, "data": {"loss": 2}}',
        "step,loss\n1,2\n",
        "step,tag,value\n1,loss,2\n",
        "Wall time,Step,Value\n1,1,2\n",
    ],
)
def test_a_run_that_a_file_does_not_name_is_refused(tmp_path: Path, content: str) -> None:
    file = write_text(tmp_path / "run", content)
    with pytest.raises(RecipeError, match=r"run#gpu: .* holds one run, which has none\n    fix: name it as .*run$"):
        read(Path(f"{file}#gpu"))


@pytest.mark.parametrize("named", ["", "#gpu"])
def test_a_metric_of_an_export_may_hold_what_stands_before_it(tmp_path: Path, named: str) -> None:
    file = write_text(tmp_path / "export.csv", "Step,gpu - val/a - b/mean,gpu - loss,gpu - _step\n1,0.5,0.25,1\n")
    run = read(Path(f"{file}{named}"))
    assert list(run.metrics) == ["val/a - b/mean", "loss"]


def test_the_name_of_a_run_may_be_the_beginning_of_anothers(tmp_path: Path) -> None:
    file = write_text(tmp_path / "export.csv", "Step,grpo - loss,grpo - npu - loss,grpo - npu - a - b\n1,0.5,0.25,2\n")
    with pytest.raises(RecipeError, match="several runs: grpo, grpo - npu\n"):
        read(file)
    ((one,), (other,)) = read_groups(f"{file}#grpo", f"{file}#grpo - npu")
    assert (list(one.metrics), values(one, "loss")) == (["loss"], {1: 0.5})
    assert (list(other.metrics), values(other, "loss")) == (["loss", "a - b"], {1: 0.25})


def test_the_name_of_a_run_may_have_commas(tmp_path: Path) -> None:
    file = write_console(tmp_path / "run.log", RECORDS)
    export = write_text(tmp_path / "export.csv", 'Step,"lr,wd - loss",gpu - loss\n1,0.5,0.25\n')
    (runs,) = read_groups(f"{export}#lr,wd,{file},{export}#gpu,{file}+{file},{tmp_path}/*.log,")
    assert [run.name for run in runs] == [f"{export}#lr,wd", str(file), f"{export}#gpu", f"{file}+{file}", str(file)]
    assert values(runs[0], "loss") == {1: 0.5}


def test_a_home_is_known_in_every_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("a-1.log", "a-2.log"):
        write_console(tmp_path / name, RECORDS)
    first, second, third = read_groups("~/a-*.log", "~/a-1.log,~/a-2.log", "~/a-1.log+~/a-2.log")
    assert [len(first), len(second), len(third)] == [2, 2, 1]
    with pytest.raises(RecipeError, match=r"~nobody-of-that-name/a\.log: there is no such file"):
        read_groups("~nobody-of-that-name/a.log")


def test_a_chart_over_time_has_no_steps(tmp_path: Path) -> None:
    file = write_text(
        tmp_path / "export.csv", '"Relative Time (Process)","gpu - loss","gpu - loss__MIN"\n"3.2","0.5","0.5"\n'
    )
    with pytest.raises(RecipeError, match=r"no column of steps, but `Relative Time \(Process\)`\n    fix: choose Step"):
        read(file)


@pytest.mark.parametrize(
    ("table", "line", "cell"),
    [
        ("step;loss\n1;2\n2;0,5\n", 3, "0,5"),
        ('step,loss\n"1,000",2\n', 2, "1,000"),
        ("step;tag;value\n1;a;1,5e-3\n", 2, "1,5e-3"),
    ],
)
def test_a_number_with_a_comma_is_neither_lost_nor_guessed(tmp_path: Path, table: str, line: int, cell: str) -> None:
    file = write_text(tmp_path / "run.csv", table)
    with pytest.raises(RecipeError, match=f"line {line}: `{cell}` is a number with a comma"):
        read(file)


@pytest.mark.parametrize(
    ("table", "line", "what"),
    [
        ("step,loss\n1,2,36\n", 2, "has 3 cells, and the header 2"),
        ("step,loss,x\n1,2,3\n2,1,901,0.5\n", 3, "has 4 cells, and the header 3"),
        ("step,tag,value\n1,loss,2,5\n", 2, "has 4 cells, and the header 3"),
        ("step,loss\n1,2\n1 234,2\n", 3, "`1 234` is no step"),
        ("step,tag,value\n1,loss,2\nend,loss,3\n", 3, "`end` is no step"),
    ],
)
def test_a_row_whose_cells_moved_is_refused(tmp_path: Path, table: str, line: int, what: str) -> None:
    """As a comma does in a number that is not in quotes: each cell behind it is taken for the one before."""
    file = write_text(tmp_path / "run.csv", table)
    with pytest.raises(RecipeError, match=rf"run\.csv, line {line}: {what}"):
        read(file)


@pytest.mark.parametrize("table", ["step,loss,val\n1,0.5,1,,\n\n2,0.25\n", "step,tag,value\n1,loss,0.5,,\n2,loss\n"])
def test_rows_may_end_in_nothing_and_short_ones_are_counted(tmp_path: Path, table: str) -> None:
    file = write_text(tmp_path / "run.csv", table)
    run = read(file)
    assert values(run, "loss")[1] == 0.5
    assert run.notes == ("1 rows have fewer cells than the header: these were not logged",)


@pytest.mark.parametrize("cell", ["N/A", "#N/A", "NA", "<NA>", "null", "None", "1.#QNAN", "-1.#IND00"])
def test_what_programs_write_for_no_number_is_nan(tmp_path: Path, cell: str) -> None:
    file = write_text(tmp_path / "run.csv", f"step,loss,x\n1,0.5,1\n2,{cell},-1.#INF\n")
    run = read(file)
    assert math.isnan(values(run, "loss")[2])
    assert values(run, "x") == {1: 1.0, 2: -math.inf}


@pytest.mark.parametrize(
    ("name", "content", "first"),
    [
        ("run.csv", "step,loss,by,val\n1,1,a,\n2,5%,None,1\n3,−0.5,b,1\n", "`5%` in line 3"),
        ("run.csv", "step,tag,value\n1,loss,1\n1,by,a\n2,loss,5%\n3,val,1\n3,loss,1 234\n", "`5%` in line 4"),
        (
            "run.json",
            '[{"step": 1, "loss": 1, "val": 1}, {"step": 2, "loss": "two", "by": "a"}, {"step": 3, "loss": [1]}]',
            "`two` at step 2",
        ),
    ],
)
def test_what_is_no_number_is_counted_and_a_text_is_no_metric(
    tmp_path: Path, name: str, content: str, first: str
) -> None:
    file = tmp_path / name
    file.write_text(content, "utf-8")
    run = read(file)
    assert list(run.metrics) == ["loss", "val"]
    assert values(run, "loss") == {1: 1.0}
    what = f"2 of its values are no numbers and are left out, the first {first}"
    assert run.notes == (f"loss: {what}",)
    assert (set(run.unread), run.unread["loss"]) == ({"loss", "by"}, what)


def test_what_is_no_number_in_the_files_of_one_run_is_counted_together(tmp_path: Path) -> None:
    files = [tmp_path / "1.csv", tmp_path / "2.csv"]
    files[0].write_text("step,loss,a\n1,1,1\n2,x,1\n", "utf-8")
    files[1].write_text("step,loss,a\n3,y,z\n4,1,1\n", "utf-8")
    run = read(Path("+".join(map(str, files))))
    assert run.unread == {
        "loss": "2 of its values are no numbers and are left out, the first `x` in line 3",
        "a": "1 of its values are no numbers and are left out, the first `z` in line 2",
    }


def test_a_metric_that_stands_in_two_columns_is_refused(tmp_path: Path) -> None:
    file = write_text(tmp_path / "run.csv", "step,loss,loss,a\n1,2,3,4\n")
    with pytest.raises(RecipeError, match=r"run\.csv: loss: stands in several columns"):
        read(file)


def test_a_run_may_lie_in_the_files_of_its_starts(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "smoke-grpo"
    folder.mkdir(parents=True)
    first, second, third = log(range(1, 9)), log(range(6, 12), factor=2.0), log(range(10, 13), factor=3.0)
    files = [write_file_log(folder / "metrics.jsonl", first), write_file_log(folder / "metrics-2.jsonl", second)]
    files.append(write_file_log(folder / "metrics-10.jsonl", third))
    (folder / "metrics-11.jsonl").touch()
    for name in (folder, "+".join(map(str, files))):
        run = read(Path(name))
        assert (run.name, run.form) == (str(name), "file logger (jsonl)")
        assert values(run) == {**expected(first[:5]), **expected(second[:4]), **expected(third)}
        assert run.notes[0].startswith("goes back from step 8 to 6, from step 11 to 10: it was resumed")


def test_the_first_start_of_a_run_may_have_logged_nothing(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").touch()
    with pytest.raises(RecipeError, match=r"metrics\.jsonl: holds no metrics"):
        read(tmp_path)
    write_file_log(tmp_path / "metrics-2.jsonl", RECORDS)
    assert values(read(tmp_path)) == expected(RECORDS)


def test_a_run_of_an_export_may_have_a_plus_in_its_name(tmp_path: Path) -> None:
    file = write_text(tmp_path / "export.csv", "Step,lr+wd - loss,gpu - loss\n1,0.5,0.25\n")
    assert values(read(Path(f"{file}#lr+wd")), "loss") == {1: 0.5}


def test_a_null_of_the_file_logger_is_nan_and_told_of(tmp_path: Path) -> None:
    run = read(write_file_log(tmp_path / "run.jsonl", [(1, {"loss": 0.5}), (2, {"loss": math.inf})]))
    assert math.isnan(values(run, "loss")[2])
    assert run.notes == ("holds nulls: the file logger writes NaN and infinity so, and they are taken for NaN",)


@pytest.mark.parametrize("step", ['"s3"', "2.5", "true", "[3]", "1e400"])
@pytest.mark.parametrize(
    ("lines", "where"),
    [
        (['{"step": 1, "data": {"a": 1}}', '{"step": %s, "data": {"a": 9}}'], "line 2"),
        (['{"step": %s, "data": {"a": 9}}', "", '{"step": 1, "data": {"a": 1}}'], "line 1"),
        (['{"_step": 1, "a": 1}', "", '{"_step": %s, "a": 9}'], "line 3"),
        (['[{"_step": 1, "a": 1}, {"_step": %s, "a": 9}]'], "record 2"),
        (['{"_step": [1, %s], "a": [1, 9]}'], "record 2"),
    ],
)
def test_a_record_whose_step_is_none_is_refused_as_a_row_is(
    tmp_path: Path, lines: list[str], where: str, step: str
) -> None:
    file = write_text(tmp_path / "run.jsonl", "".join(line.replace("%s", step) + "\n" for line in lines))
    with pytest.raises(RecipeError, match=rf"run\.jsonl, {where}: `.*` is no step\n    fix: write whole numbers"):
        read(file)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ('{"step": 1, "data": {"a": 1}}\n{"step": null, "data": {"a": 9}}\n{"data": {"a": 9}}\n', "line 2"),
        ('{"config": {}}\n{"b": 2}\n{"_step": 1, "a": 1}\n', "line 1"),
        ('[{"_step": 1, "a": 1}, {"a": 9}, {"_step": null}]', "record 2"),
        ("step,a\n1,1\n,9\n,9\n", "line 3"),
        ("step,tag,value\n,a,9\n1,a,1\n,a,9\n", "line 2"),
    ],
)
def test_records_without_a_step_are_told_of(tmp_path: Path, content: str, where: str) -> None:
    file = write_text(tmp_path / "run", content)
    run = read(file)
    assert values(run, "a") == {1: 1.0}
    assert run.notes == (f"2 records have no step and are left out, the first in {where}",)


def test_numbers_that_json_lacks_are_words_in_a_history(tmp_path: Path) -> None:
    rows = [{"_step": 1, "loss": "NaN", "name": "one", "x": None}, {"_step": 2, "loss": "-Infinity"}]
    run = read(write_json(tmp_path / "run.json", rows))
    assert list(run.metrics) == ["loss"]
    assert values(run, "loss")[2] == -math.inf


def test_a_json_log_that_is_cut_off_loses_its_last_line(tmp_path: Path) -> None:
    file = write_file_log(tmp_path / "run.jsonl", RECORDS)
    file.write_bytes(file.read_bytes()[:-9])
    run = read(file)
    assert values(run) == expected(RECORDS[:-1])
    assert run.notes == ("1 lines are no whole JSON and are left out: something was cut off",)


@pytest.mark.parametrize("before", ['cut": 1, "data": {}}\n', "WARNING: late\n", '{"config": {}}\n'])
def test_a_json_log_may_begin_with_something_else(tmp_path: Path, before: str) -> None:
    file = write_file_log(tmp_path / "run.jsonl", RECORDS)
    file.write_text(before + file.read_text("utf-8"), "utf-8")
    run = read(file)
    assert (run.form, values(run)) == ("file logger (jsonl)", expected(RECORDS))


def test_a_pipe_is_read_as_a_file_is(tmp_path: Path) -> None:
    """As of a shell's ``<(zcat gpu.log.gz)``, of which nothing can be read twice."""
    records = log(range(1, 800))
    content = write_console(tmp_path / "run.log", records).read_bytes()
    end, beginning = os.pipe()
    assert os.write(beginning, content) == len(content)
    os.close(beginning)
    name = Path(f"/proc/self/fd/{end}")
    run = read(name)
    os.close(end)
    assert (run.name, values(run)) == (str(name), expected(records))


def test_a_group_may_be_longer_than_the_name_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"grpo-qwen3-8b-of-seed-{number}.log" for number in range(12)]
    for name in names:
        write_console(Path(name), RECORDS)
    (runs,) = read_groups(",".join(names))
    assert [run.name for run in runs] == names


def test_an_empty_name_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecipeError, match="'': names no file"):
        read_groups("")


def test_groups_are_patterns_lists_and_files(tmp_path: Path) -> None:
    for name in ("a-1.log", "a-2.log", "b,1.log"):
        write_console(tmp_path / name, RECORDS)
    first, second, third = read_groups(
        f"{tmp_path}/a-*.log", f"{tmp_path / 'a-1.log'},{tmp_path / 'a-2.log'}", str(tmp_path / "b,1.log")
    )
    assert [Path(run.name).name for run in first] == ["a-1.log", "a-2.log"]
    assert [run.name for run in first] == [run.name for run in second]
    assert [Path(run.name).name for run in third] == ["b,1.log"]


def test_everything_that_cannot_be_read_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "other.json").write_text('{"a": [1, 2]}', "utf-8")
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 50)
    names = ["empty.log", "folder", "other.json", "binary", "missing.log"]
    with pytest.raises(RecipeError) as caught:
        read_groups(",".join(str(tmp_path / name) for name in names), str(tmp_path / "*.none"))
    assert [Path(problem.where).name for problem in caught.value.problems] == [*names, "*.none"]
    assert all(problem.what and problem.fix for problem in caught.value.problems)


NO_LOGS: dict[str, tuple[bytes, str, str]] = {
    "empty": (b" \n\n", "holds no metrics with steps: it is empty", "name what a trainer"),
    "binary": (b"\x00\x01 step:1 - ", "it looks like a binary file", "name what a trainer"),
    "gzip": (gzip.compress(b"step:1 - loss:1"), "is packed by gzip", r"name it as <\(zcat .*/file\)$"),
    "zip": (b"PK\x03\x04", "is a zip archive, as what torch saves is", "unpack it"),
    "Parquet": (b"PAR1", "is a Parquet file", "export it as CSV"),
    "UTF-16": ("step:1 - loss:1\n".encode("utf-16"), "it is text in UTF-16", r"name it as <\(iconv -f utf-16 "),
    "text": (b"\n[INFO] no metrics\n", r"it looks like text that begins with `\[INFO\] no metrics`", "name what"),
    "truncated": (
        b'{\n "log_history": [\n  {"step": 1,\n',
        "goes wrong in line 4, column 1: Expecting",
        "write it again",
    ),
    "trailing comma": (b'[{"step": 1, "loss": 2},]', "goes wrong in line 1, column 25: ", "write it again, whole"),
    "results": (
        b'{"epoch": 3.0, "train_loss": 2}',
        "it is a JSON object .* with epoch, train_loss$",
        "trainer_state.json",
    ),
    "a list": (
        b"[[1, 2]]",
        "it is a JSON list without records that have a step and numbers$",
        "name the log of each step",
    ),
    "a record beside a list": (
        b'{"step": 30, "loss": 2, "history": [{"loss": 2}]}',
        "it is a JSON object without a list of records that have a step and numbers, with step, loss, history$",
        "name the log of each step",
    ),
    "lines": (
        b'{"loss": 2}\n{"loss": 3}\n',
        "lines of JSON without a step, the first with loss$",
        "name the log of each",
    ),
}


@pytest.mark.parametrize(("content", "what", "fix"), NO_LOGS.values(), ids=NO_LOGS)
def test_a_file_that_is_no_log_is_called_what_it_looks_like(
    tmp_path: Path, content: bytes, what: str, fix: str
) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(RecipeError) as caught:
        read(tmp_path / "file")
    (problem,) = caught.value.problems
    assert problem.where == str(tmp_path / "file")
    assert re.search(what, problem.what)
    assert re.search(fix, problem.fix)


def test_the_log_in_a_trainers_folder_is_named(tmp_path: Path) -> None:
    state = tmp_path / "checkpoint-9" / "trainer_state.json"
    state.parent.mkdir()
    state.touch()
    with pytest.raises(RecipeError, match=rf"without event files of TensorBoard\n    fix: name {state}$"):
        read(tmp_path)


@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"step": 1e400, "data": {"a": 1}}', '{"step": 1, "data": {"a": [1]}}']
)
def test_json_that_holds_no_metrics_is_refused(tmp_path: Path, content: str) -> None:
    file = write_text(tmp_path / "run.json", content + "\n")
    with pytest.raises(RecipeError, match="holds no metrics with steps"):
        read(file)
