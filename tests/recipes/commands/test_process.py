"""The command as a process: what a shell, a pipe and a terminal without colours see."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.terminal import on_terminal

from ..samples import log, write_console

COMMAND = [sys.executable, "-m", "npu_recipes"]


def test_a_reader_that_has_seen_enough_does_not_matter(tmp_path: Path) -> None:
    file = write_console(tmp_path / "run.log", log(range(1, 9)))
    command = [*COMMAND, "compare", str(file), str(file), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_a_pipe_gets_plain_text_and_no_progress(tmp_path: Path) -> None:
    file = write_console(tmp_path / "\x1b[31mrun.log", log(range(1, 9)))
    done = subprocess.run([*COMMAND, "compare", str(file), str(file)], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout


def test_a_terminal_shows_the_current_step_and_clears_it(tmp_path: Path) -> None:
    file = write_console(tmp_path / "run.log", log(range(1, 9)))
    variables = {"PATH": os.environ["PATH"], "TERM": "xterm", "HOME": str(tmp_path)}
    code, shown = on_terminal([*COMMAND, "compare", file, file], env=variables)
    assert code == 0
    step, _, result = shown.partition("reference: ")
    assert "reading" in step
    assert step.rindex("\x1b[?25h") > step.rindex("reading")  # the cursor is back
    assert "reading" not in result


@pytest.mark.parametrize("width", ["0", "-5", "²"])
def test_the_width_of_the_screen_takes_nothing_away(width: str) -> None:
    printed = [
        subprocess.run(
            [*COMMAND, "list"], capture_output=True, check=True, env={**os.environ, "COLUMNS": columns}
        ).stdout
        for columns in ("80", width)
    ]
    assert printed[0] == printed[1] != b""


@pytest.mark.parametrize("arguments", [["compare"], ["compare", "a"], ["nothing"], []])
def test_wrong_usage_is_2(arguments: list[str]) -> None:
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"usage: npu-recipes")


def test_without_a_command_it_shows_the_three_most_common_tasks() -> None:
    done = subprocess.run(COMMAND, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    tasks = done.stderr.partition("the three most common tasks:\n")[2].partition("\n\n")[0]
    assert [line.split()[:2] for line in tasks.splitlines()] == [
        ["npu-recipes", name] for name in ("run", "run", "compare")
    ]


def test_missing_logs_are_named_by_the_names_in_the_help() -> None:
    done = subprocess.run([*COMMAND, "compare"], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("the following arguments are required: A, B\n")


@pytest.mark.parametrize("name", ["rich", "yaml", "numpy"])
def test_a_package_that_is_missing_is_named(tmp_path: Path, name: str) -> None:
    program = f"import sys; sys.modules[{name!r}] = None; from npu_recipes.__main__ import run; sys.exit(run())"
    file = write_console(tmp_path / "run.log", log(range(1, 9)))
    command = [sys.executable, "-c", program, "compare", str(file), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"error: npu-recipes: the module {name} is not installed\n    fix: {sys.executable} -m"
    )
