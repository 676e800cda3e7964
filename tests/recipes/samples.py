"""Samples: what runs log, in every form, made of the same numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

from npu_recipes.cli import main
from npu_recipes.runs import Run
from npu_recipes.runs.run_files import read_run

Log = list[tuple[int, Mapping[str, float]]]
REWARD = "critic/rewards/mean"


def log(steps: Iterable[int], *, factor: float = 1.0) -> Log:
    """Return a run whose reward rises and whose loss falls."""
    return [(step, {REWARD: factor * (1 + step / 10), "train/loss": factor * 5 / (1 + step)}) for step in steps]


def console_line(step: int, values: Mapping[str, object]) -> str:
    """Return a line as verl's console logger prints it."""
    return " - ".join([f"step:{step}", *(f"{name}:{value!r}" for name, value in values.items())])


def write_text(file: Path, text: str, newline: str | None = None) -> Path:
    """Write a text."""
    file.write_text(text, "utf-8", newline=newline)
    return file


def write_console(file: Path, records: Log, *, end: str = "\n") -> Path:
    """Write a console log."""
    file.write_text("\n".join(console_line(step, values) for step, values in records) + end, "utf-8")
    return file


def write_file_log(file: Path, records: Log) -> Path:
    """Write what verl's file logger does; orjson has null for NaN."""
    with file.open("w", encoding="utf-8") as log:
        for step, data in records:
            finite = {name: _finite(one) for name, one in data.items()}
            log.write(f"{json.dumps({'step': step, 'data': finite})}\n")
    return file


def write_csv(file: Path, records: Log, *, step: str = "step", prefix: str = "") -> Path:
    """Write a table with a column for each metric."""
    names = list(dict.fromkeys(chain.from_iterable(values for _, values in records)))
    lines = [[step, *(f"{prefix}{name}" for name in names)]]
    for at, values in records:
        lines.append([str(at), *(str(values.get(name, "")) for name in names)])
    file.write_text("".join(",".join(line) + "\n" for line in lines), "utf-8")
    return file


def read(file: Path) -> Run:
    """Read a run."""
    return read_run(str(file))


def values(run: Run, metric: str = REWARD) -> dict[int, float]:
    """Return a metric's values by step."""
    series = run.metrics[metric]
    return dict(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def expected(records: Log, metric: str = REWARD) -> dict[int, float]:
    """Return the same of a log."""
    return {step: data[metric] for step, data in records if metric in data}


def compare(*arguments: str | Path) -> int:
    """Run ``npu-recipes compare`` and return its exit code."""
    return main(["compare", *map(str, arguments)])


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
