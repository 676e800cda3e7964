"""Runs: a folder that holds all a run makes, and goes on where the one before it ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.files import make_folder
from npu_recipes.launching.curve import WATCHED, Curve, draw, read_curve
from npu_recipes.launching.plan import Plan
from npu_recipes.launching.process import run_plan

# Seconds between two lines about a run that goes on, and how many lines of its output are shown where it fails.
PAUSE, SHOWN = 10.0, 15


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run's folder.

    Args:
        folder: of the run.
        metrics: what verl's file logger is to write: it begins its file anew, so every start has one of its own.
        earlier: what it wrote in earlier starts.
    """

    folder: Path
    metrics: Path
    earlier: tuple[Path, ...] = field(default=())

    @property
    def log(self) -> Path:
        """What verl printed, of all starts."""
        return self.folder / "log.txt"

    @property
    def picture(self) -> Path:
        """The curve."""
        return self.folder / "curve.svg"

    def train(self, plan: Plan, *, tell: Callable[[Curve], None]) -> Curve:
        """Run a plan to its end, draw the curve and return it.

        Args:
            plan: what to run.
            tell: told of progress, not more often than a person reads.

        Raises:
            RecipeError: the run failed; with the end of its output.
        """
        make_folder(self.folder, option="--output")
        code = run_plan(plan, self.log, tell=_slowly(tell), earlier=list(self.earlier))
        curve = read_curve((*self.earlier, self.metrics), WATCHED[plan.recipe.algorithm])
        if curve.steps:
            draw(curve, self.picture, title=plan.recipe.name)
        if code:
            raise RecipeError(_failed(plan, self.log, code))
        return curve

    @property
    def idle(self) -> bool:
        """Whether a start that was to go on has logged no step."""
        return bool(self.earlier) and not (self.metrics.exists() and self.metrics.stat().st_size)

    def results(self) -> dict[str, Path]:
        """Return what there is now, by what it is."""
        places = {
            "metrics": self.metrics,
            "picture": self.picture,
            "log": self.log,
            "checkpoints": self.folder / "checkpoints",
        }
        return {what: place for what, place in places.items() if place.exists()}


def begin(folder: Path) -> Run:
    """Return the run of a folder, which need not be there yet."""
    earlier: list[Path] = []
    while (file := folder / _name(len(earlier))).exists():
        earlier.append(file)
    return Run(folder=folder, metrics=file, earlier=tuple(earlier))


def _name(number: int) -> str:
    return f"metrics-{number + 1}.jsonl" if number else "metrics.jsonl"


def _slowly(tell: Callable[[Curve], None]) -> Callable[[Curve], None]:
    """Return a function that hands on what it is told, the first at once and then one in a while."""
    last = -PAUSE

    def told(curve: Curve) -> None:
        nonlocal last
        if time.monotonic() - last >= PAUSE:
            last = time.monotonic()
            tell(curve)

    return told


def _failed(plan: Plan, log: Path, code: int) -> Problem:
    lines = log.read_text("utf-8", "replace").splitlines()[-SHOWN:]
    what = f"training ended with {code}; the end of what it printed:\n" + "\n".join(f"    | {line}" for line in lines)
    return Problem(where=plan.recipe.name, what=what, fix=f"the cause stands further up in {log}")
