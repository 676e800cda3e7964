"""The first example in the help of every command runs; that of `dump` needs torch and is in `tests/recipes/dumps`."""

from __future__ import annotations

from pathlib import Path

import pytest

from document_tables.parsers import commands_of
from npu_recipes.cli import main
from npu_recipes.commands.parser import parser
from support.examples import arguments, examples

from ..dumps.samples import Forward, write
from ..preparation.test_data_sets import QUESTION, place
from ..samples import log, write_console

PROGRAM = "npu-recipes"
COMMANDS = commands_of(parser())
BY_TORCH = "dump"


def touch_splits(folder: Path, **splits: object) -> None:
    """Stand for pyarrow, which is only where verl is."""
    folder.mkdir(parents=True)
    for name in splits:
        (folder / f"{name}.parquet").touch()


@pytest.mark.parametrize("command", sorted({*COMMANDS} - {BY_TORCH}))
def test_the_first_example_of_a_command_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("npu_recipes.preparation.data_sets.write_splits", touch_splits)
    (tmp_path / "gsm8k").mkdir()
    place(tmp_path / "gsm8k", train=[QUESTION], test=[QUESTION])
    for name in ("gpu", "npu"):
        write_console(tmp_path / f"{name}.log", log(range(1, 9)))
        write(tmp_path / f"{name}.npz", Forward())
    words = arguments(examples(COMMANDS[command].format_help())[0], PROGRAM)
    assert words is not None
    assert main(words) == 0, capsys.readouterr().err
    assert capsys.readouterr().out
