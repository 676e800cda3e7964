"""Event files, as TensorBoard's own writer makes them."""

from __future__ import annotations

import gzip
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from npu_recipes.errors import RecipeError
from npu_recipes.runs import read_groups

from ..samples import Log, expected, log, read, values

RECORDS = log(range(1, 6))


def write_events(folder: Path, records: Log, start: float = 1.7e9, purge: int | None = None, *, pace: int = 1) -> Path:
    """Write an event file as torch's SummaryWriter does, with its `purge_step`, and return its folder."""
    writing: Any = importlib.import_module("tensorboard.summary.writer.event_file_writer")
    proto: Any = importlib.import_module("tensorboard.compat.proto.event_pb2")
    summary: Any = importlib.import_module("tensorboard.compat.proto.summary_pb2")
    writer = writing.EventFileWriter(str(folder), filename_suffix=f".{int(start)}")
    if purge is not None:
        session = proto.SessionLog(status=proto.SessionLog.START)
        writer.add_event(proto.Event(wall_time=start, step=purge, session_log=session))
    for number, (step, data) in enumerate(records):
        for tag, value in data.items():
            content = summary.Summary(value=[summary.Summary.Value(tag=tag, simple_value=value)])
            writer.add_event(proto.Event(wall_time=start + pace * number, step=step, summary=content))
    writer.close()
    return folder


def test_a_folder_and_its_file_give_the_numbers(tmp_path: Path) -> None:
    folder = write_events(tmp_path / "tensorboard_log" / "verl" / "grpo", RECORDS)
    (file,) = folder.iterdir()
    for place in (tmp_path / "tensorboard_log", folder, file):
        run = read(place)
        assert run.form == "TensorBoard event files"
        assert run.notes == ()
        # They hold 32 bits of each number.
        assert values(run) == pytest.approx(expected(RECORDS), rel=1e-6)


def test_an_event_file_is_known_under_any_name(tmp_path: Path) -> None:
    (file,) = write_events(tmp_path / "gpu", RECORDS).iterdir()
    copy = file.rename(tmp_path / "gpu.events")
    run = read(copy)
    assert (run.form, run.name) == ("TensorBoard event files", str(copy))
    assert values(run) == pytest.approx(expected(RECORDS), rel=1e-6)


def test_event_files_of_one_folder_that_are_named_as_several_runs_are_told_of(tmp_path: Path) -> None:
    write_events(tmp_path / "a", log(range(1, 9)), start=1.7e9)
    write_events(tmp_path / "a", log(range(5, 7)), start=1.8e9)
    write_events(tmp_path / "b", RECORDS)
    several, two = read_groups(f"{tmp_path}/a/*", f"{tmp_path}/a/*.1700000000,{tmp_path}/b/*,{tmp_path}/a")
    assert [run.notes for run in several] == [
        ("is one of several event files of a folder, and taken for a run of its own: of one run, name the folder",)
    ] * 2
    assert [run.notes for run in two[:2]] == [(), ()]


def test_what_megatron_logs_by_samples_is_of_no_step(tmp_path: Path) -> None:
    records: Log = [(step, {"lm loss": step / 8}) for step in range(1, 9)]
    by_samples: Log = [(16 * step, {"lm loss vs samples": step / 8}) for step in range(1, 9)]
    run = read(write_events(tmp_path, sorted([*records, *by_samples])))
    assert {metric: values(run, metric) for metric in run.metrics} == {"lm loss": expected(records, "lm loss")}
    assert run.records is not None
    assert run.records.tolist() == list(range(1, 9))


@pytest.mark.parametrize("damage", ["cut off", "damaged"])
def test_a_file_that_is_cut_off_is_told_of(tmp_path: Path, damage: str) -> None:
    (file,) = write_events(tmp_path, RECORDS).iterdir()
    content = bytearray(file.read_bytes())
    content[-20:] = b"" if damage == "cut off" else b"x" * 20
    file.write_bytes(content)
    run = read(tmp_path)
    assert values(run) == pytest.approx(expected(RECORDS), rel=1e-6)
    assert len(run.metrics["train/loss"].steps) == len(RECORDS) - 1
    assert run.notes == ("1 event files cannot be read to their end: cut off or damaged, and the rest left out",)


@pytest.mark.parametrize("purge", [None, 5])
def test_a_resumed_run_has_two_files_in_its_folder(tmp_path: Path, purge: int | None) -> None:
    write_events(tmp_path, log(range(1, 9)), start=1.7e9)
    write_events(tmp_path, log(range(5, 7), factor=2.0), start=1.8e9, purge=purge)
    run = read(tmp_path)
    assert values(run) == pytest.approx(
        {**expected(log(range(1, 5))), **expected(log(range(5, 7), factor=2.0))}, rel=1e-6
    )
    assert run.notes[0].startswith("goes back from step 8 to 5: it was resumed")


def test_a_run_of_which_all_was_written_at_one_time_went_back_nowhere(tmp_path: Path) -> None:
    run = read(write_events(tmp_path, RECORDS, pace=0))
    assert run.notes == ()
    assert values(run) == pytest.approx(expected(RECORDS), rel=1e-6)


@pytest.mark.thorough
def test_nothing_is_sampled_away(tmp_path: Path) -> None:
    records: Log = [(step, {"train/loss": float(step)}) for step in range(1, 15_001)]
    assert len(values(read(write_events(tmp_path, records)), "train/loss")) == 15_000


def test_a_file_that_is_cut_off_gives_what_is_whole(tmp_path: Path) -> None:
    (file,) = write_events(tmp_path, RECORDS).iterdir()
    file.write_bytes(file.read_bytes()[:-7])
    whole = {step: value for step, value in values(read(tmp_path)).items() if step < 5}
    assert whole == pytest.approx(expected(RECORDS[:-1]), rel=1e-6)


def test_folders_of_several_runs_have_to_be_told_apart(tmp_path: Path) -> None:
    for name in ("gpu", "npu"):
        write_events(tmp_path / name, RECORDS)
    with pytest.raises(RecipeError, match=r"holds event files of 2 runs: gpu, npu\n    fix: name one of them: .*gpu"):
        read(tmp_path)


def test_the_files_beside_the_folder_of_another_run_are_named_by_themselves(tmp_path: Path) -> None:
    for name, records in (("npu", RECORDS), ("1", RECORDS), ("2", log(range(6, 8)))):
        (file,) = write_events(tmp_path / name, records).iterdir()
        if name != "npu":
            file.rename(tmp_path / f"events.out.tfevents.{name}")
    with pytest.raises(RecipeError, match=r"holds event files of 2 runs: \., npu\n") as refused:
        read(tmp_path)
    named = str(refused.value).rpartition("name one of them: ")[2]
    assert list(values(read(Path(named)))) == list(range(1, 8))


def test_what_an_event_file_is_its_content_says(tmp_path: Path) -> None:
    file = tmp_path / "gpu.tfevents.log"
    file.write_text("step:1 - train/loss:0.5\n", "utf-8")
    assert values(read(file), "train/loss") == {1: 0.5}


def test_what_is_named_as_an_event_file_and_is_none_is_refused(tmp_path: Path) -> None:
    (file,) = write_events(tmp_path, RECORDS).iterdir()
    (tmp_path / "events.out.tfevents.0").touch()
    assert values(read(tmp_path)) == pytest.approx(expected(RECORDS), rel=1e-6)
    packed = tmp_path / f"{file.name}.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    with pytest.raises(RecipeError, match=rf"^{packed}: is named as an event file of TensorBoard, and is none\n"):
        read(tmp_path)


def test_without_tensorboard_the_command_that_installs_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_events(tmp_path, RECORDS)
    monkeypatch.setitem(sys.modules, "tensorboard.backend.event_processing", None)
    with pytest.raises(RecipeError, match=r"fix: pip install 'npu-recipes\[tensorboard\]'"):
        read(tmp_path)
