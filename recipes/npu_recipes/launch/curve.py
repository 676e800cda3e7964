"""Curve: one metric of verl's file logger over the steps, as a line of text and as a picture."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from npu_recipes.files import replacing

# NaN and infinity are shown as a cross.
BARS, BROKEN = "▁▂▃▄▅▆▇█", "×"
# The metric that is watched, by algorithm.
WATCHED = {"sft": "train/loss", "grpo": "critic/rewards/mean", "dapo": "critic/rewards/mean"}
SHORT = {"train/loss": "loss", "critic/rewards/mean": "reward"}


@dataclass(frozen=True, kw_only=True)
class MetricCurve:
    """A metric over the steps of a run, in their order."""

    metric: str
    steps: tuple[int, ...]
    values: tuple[float, ...]

    @property
    def name(self) -> str:
        """The metric's usual short name."""
        return SHORT.get(self.metric, self.metric)

    def sparkline(self, width: int = 40) -> str:
        """Return the curve as one line of block characters; neighbours share one where there are more than `width`."""
        if not self.values:
            return ""
        per = -(-len(self.values) // width)
        shown = []
        for start in range(0, len(self.values), per):
            part = self.values[start : start + per]
            shown.append(sum(part) / len(part))
        finite = list(filter(math.isfinite, shown))
        low, high = min(finite, default=0.0), max(finite, default=0.0)
        span = (high - low) or 1.0
        line = ""
        for value in shown:
            line += BARS[min(int((value - low) / span * len(BARS)), len(BARS) - 1)] if math.isfinite(value) else BROKEN
        return line

    def summary(self) -> str:
        """Return the curve in a line: the last step, the metric at the first and there, and its shape."""
        if not self.values:
            return f"{self.name}: no step was logged"
        ends = f"{self.name} {self.values[0]:.3g} → {self.values[-1]:.3g}"
        broken = [step for step, value in zip(self.steps, self.values, strict=True) if not math.isfinite(value)]
        note = f"  NaN or infinite at {len(broken)} steps, first at {broken[0]}" if broken else ""
        return f"step {self.steps[-1]:>3}  {ends}  {self.sparkline()}{note}"


def read_curve(files: Iterable[Path], metric: str) -> MetricCurve:
    """Return a metric's curve from files in the order they were begun; a later start replaces the steps it repeats.

    A line that is not complete yet is skipped. null is NaN: that is how verl's file logger writes it.
    """
    found: dict[int, float] = {}
    for file in files:
        if not file.exists():
            continue
        *whole, _ = file.read_text("utf-8", "replace").split("\n")
        lines = list(map(json.loads, whole))
        if lines:
            # An earlier start may have got beyond the checkpoint with which this one began.
            begun = int(lines[0]["step"])
            found = {step: value for step, value in found.items() if step <= begun}
        for line in lines:
            if metric in line["data"]:
                value = line["data"][metric]
                found[int(line["step"])] = math.nan if value is None else float(value)
    steps = sorted(found)
    return MetricCurve(metric=metric, steps=tuple(steps), values=tuple(found[step] for step in steps))


def draw(curve: MetricCurve, file: Path, *, title: str) -> None:
    """Draw a curve as SVG; the text in it stays text.

    Args:
        curve: what to draw.
        file: where to.
        title: what stands above it.
    """
    import matplotlib as mpl  # noqa: PLC0415  # it takes a second
    from matplotlib.figure import Figure  # noqa: PLC0415  # likewise

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": title}):
        figure = Figure(figsize=(7, 3.5), layout="constrained")
        axes = figure.subplots()
        axes.plot(curve.steps, curve.values, marker=".", linewidth=1.5)
        axes.set(title=title, xlabel="step", ylabel=curve.name)
        axes.grid(visible=True, alpha=0.3)
        with replacing(file, option="--output") as stream:
            figure.savefig(stream, format="svg", metadata={"Date": None})
