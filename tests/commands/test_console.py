"""What reaches a person: nothing a terminal would obey, names as they are, progress where it is needed."""

from __future__ import annotations

import io
import json
import sys
import threading
import time

import pytest

from npu_overlays.commands.console import Console, Lines, readable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, größer, 昇腾", "plain, größer, 昇腾"),
        ("full\u3000width space", "full\u3000width space"),
        ("red \x1b[31m", "red \\x1b[31m"),
        ("one-byte \x9b31m", "one-byte \\x9b31m"),
        ("turned \u202e round", "turned \\u202e round"),
        ("two\nlines\r\n", "two\\nlines\\r\\n"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("name of bytes \udcc3\udcbc", "name of bytes ü"),
        ("not UTF-8: \udcff", "not UTF-8: \\udcff"),
        ("half a pair: \ud800", "half a pair: \\ud800"),
    ],
)
def test_a_terminal_obeys_nothing_in_a_text(text: str, shown: str) -> None:
    assert readable(text) == shown


def test_json_holds_no_control_character_and_means_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"why": "\x1b[31m \x9b \u202e 昇腾 \U000e0001", "name": "\udcc3\udcbc"}
    Console(json_output=True).json(value)
    out = capsys.readouterr().out
    assert "".join(char for char in out if not char.isprintable()) == "\n" * out.count("\n")
    assert "昇腾" in out
    assert json.loads(out) == {**value, "name": "ü"}


class LineCollector:
    """Collects lines, and waits for them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._more = threading.Condition()

    def __call__(self, line: str) -> None:
        with self._more:
            self.lines.append(line)
            self._more.notify()

    def wait(self, number: int) -> list[str]:
        with self._more:
            assert self._more.wait_for(lambda: len(self.lines) >= number, timeout=60)
            return self.lines


def test_a_quick_step_says_nothing() -> None:
    said = LineCollector()
    watch = Lines(said, after=60)
    watch.step("quick")
    watch.stop()
    assert said.lines == []


def test_a_long_step_is_said_once_and_again_later() -> None:
    said = LineCollector()
    watch = Lines(said, after=0.01, again=0.05)
    watch.step("long")
    assert said.wait(2)[0] == "long"
    assert said.lines[1].startswith("long (")
    watch.stop()
    number = len(said.lines)
    time.sleep(0.1)
    assert len(said.lines) == number


def test_many_quick_steps_are_not_silent_together() -> None:
    said = LineCollector()
    watch = Lines(said, after=0.05, again=60)
    end = time.monotonic() + 60
    for number in range(10_000):
        watch.step(f"step {number}")
        if said.lines or time.monotonic() > end:
            break
        time.sleep(0.001)
    watch.stop()
    assert len(said.lines) == 1
    assert said.lines[0].startswith("step ")


class Terminal(io.StringIO):
    """A terminal that keeps what is printed on it."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_that_cannot_redraw_a_line_gets_one_for_a_long_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with Console(json_output=False) as console:
        console.step("long")
        end = time.monotonic() + 60
        while not terminal.getvalue() and time.monotonic() < end:
            time.sleep(0.05)
    assert terminal.getvalue() == "long\n"


def test_a_list_in_the_last_column_goes_on_below_and_names_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"stack-{number}-{'x' * 20}" for number in range(4)]
    Console(json_output=False).table(("overlay", "stacks"), [("lib@1", ", ".join(names)), ("app@2", "x" * 120)])
    assert capsys.readouterr().out.splitlines() == [
        "overlay  stacks",
        f"lib@1    {', '.join(names[:3])},",
        f"         {names[3]}",
        f"app@2    {'x' * 120}",
    ]


def test_a_paragraph_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    Console(json_output=False).paragraph("word " * 40, indent=12)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(line.startswith(" " * 12 + "word") and len(line) <= 100 for line in lines)
