"""`build_tools/timer.sh`: on a terminal it counts seconds; the output and the exit code are the command's."""

from __future__ import annotations

import subprocess

from support.terminal import on_terminal

from .conftest import ROOT

TIMER = ("sh", str(ROOT / "build_tools" / "timer.sh"))


def test_counts_the_seconds_on_a_terminal_and_clears_the_line() -> None:
    code, shown = on_terminal([*TIMER, "sh", "-c", "sleep 2.5; exit 3"])
    assert code == 3
    assert shown.startswith("  1 s\r  2 s\r")
    assert shown.endswith("\x1b[K")


def test_counts_no_second_of_a_command_that_ends_at_once() -> None:
    assert on_terminal([*TIMER, "echo", "done"]) == (0, "done\r\n\x1b[K")


def test_adds_nothing_where_there_is_no_terminal() -> None:
    command = "sleep 1.5; echo out; echo err >&2; exit 4"
    done = subprocess.run([*TIMER, "sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (4, "out\n", "err\n")
