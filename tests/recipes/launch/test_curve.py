"""Curve: what verl's file logger wrote, as a line and as a picture."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from npu_recipes.launch.curve import MetricCurve, draw, read_curve


def write(file: Path, *steps: tuple[int, float | None], tail: str = "") -> Path:
    lines = [json.dumps({"step": step, "data": {"m": value} if value is not None else {}}) for step, value in steps]
    file.write_text("".join(f"{line}\n" for line in lines) + tail, "utf-8")
    return file


def curve(*values: float) -> MetricCurve:
    return MetricCurve(metric="m", steps=tuple(range(len(values))), values=values)


def test_null_is_nan_and_told_of_with_its_step(tmp_path: Path) -> None:
    file = tmp_path / "a"
    values = (0.5, 1.0, None, None)
    lines = (json.dumps({"step": step, "data": {"m": value}}) for step, value in enumerate(values, 1))
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")

    found = read_curve([file], "m")

    assert found.steps == (1, 2, 3, 4)
    assert found.summary() == "step   4  m 0.5 → nan  ▁█××  NaN or infinite at 2 steps, first at 3"


def test_a_line_that_is_being_written_waits(tmp_path: Path) -> None:
    file = write(tmp_path / "a", (1, 0.5), (2, None), (3, 1.5), tail='{"step": 4, "da')

    assert read_curve([file, tmp_path / "not there yet"], "m") == MetricCurve(
        metric="m", steps=(1, 3), values=(0.5, 1.5)
    )


def test_where_a_run_was_taken_up_again_the_later_counts(tmp_path: Path) -> None:
    files = [write(tmp_path / "a", (1, 1.0), (2, 2.0), (3, 3.0)), write(tmp_path / "b", (3, 30.0), (4, 40.0))]

    assert read_curve(files, "m").values == (1.0, 2.0, 30.0, 40.0)


def test_what_a_run_had_reached_beyond_its_checkpoint_is_left_behind(tmp_path: Path) -> None:
    files = [write(tmp_path / "a", *((step, 1.0) for step in range(1, 9))), write(tmp_path / "b", (5, 2.0), (6, 2.0))]

    assert read_curve(files, "m").steps == (1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ((), ""),
        ((1.0,), "▁"),
        ((1.0, 1.0), "▁▁"),
        ((0.0, 4.0, 8.0), "▁▅█"),
        ((3.0, 2.0, 1.0), "█▅▁"),
        ((float("nan"),), "×"),
        ((0.0, float("inf"), 1.0), "▁×█"),
    ],
)
def test_a_line_shows_the_shape(values: tuple[float, ...], line: str) -> None:
    assert curve(*values).sparkline() == line


def test_a_long_line_is_as_wide_as_it_may_be() -> None:
    assert len(curve(*map(float, range(1000))).sparkline(width=30)) == 30


def test_a_run_without_steps_says_so() -> None:
    assert "no step" in curve().summary()


@pytest.mark.slow
def test_a_picture_is_the_same_each_time_and_its_text_is_text(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        draw(curve(0.1, 0.5, 0.9), tmp_path / name, title="smoke <&> grpo")

    text = (tmp_path / "a.svg").read_text("utf-8")
    assert text == (tmp_path / "b.svg").read_text("utf-8")
    assert "smoke <&> grpo" in "".join(ET.fromstring(text).itertext())  # noqa: S314  # our own
