"""Event files: what TensorBoard shows → a collector. TensorBoard's own package reads them; it is an optional extra."""

from __future__ import annotations

import logging
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.runs.collecting import Collector

FORM = "TensorBoard event files"
SIGN = "tfevents"


def event_folder(place: Path) -> Path | None:
    """Return what holds the event files of one run: the file itself, or the one folder below that has any.

    Raises:
        RecipeError: several folders have some, and each is a run of its own.
    """
    if place.is_file():
        return place if SIGN in place.name else None
    folders = sorted({file.parent for file in place.rglob(f"*{SIGN}*") if file.is_file()})
    if len(folders) > 1:
        listed = ", ".join(str(folder.relative_to(place)) for folder in folders[:5])
        what = f"holds event files of {len(folders)} runs: {listed}{', …' if len(folders) > 5 else ''}"  # noqa: PLR2004  # enough to know them by
        raise RecipeError(Problem(where=str(place), what=what, fix=f"name one of them: {folders[0]}"))
    return folders[0] if folders else None


def read_events(place: Path, collector: Collector) -> None:
    """Read an event file, or all of a folder; raises `RecipeError` where TensorBoard's package is not installed."""
    try:
        # It takes a second, and is needed for this form alone.
        from tensorboard.backend.event_processing import event_accumulator as reading  # noqa: PLC0415
    except ImportError as error:
        what = f"is read by the package tensorboard, which cannot be imported: {error}"
        fix = "pip install 'npu-recipes[tensorboard]'"
        raise RecipeError(Problem(where=str(place), what=what, fix=fix)) from error
    logging.getLogger("tensorboard").setLevel(logging.ERROR)
    # By itself it keeps a sample of the values, and drops in silence what a resumed run has logged again.
    events = reading.EventAccumulator(str(place), size_guidance={reading.SCALARS: 0}, purge_orphaned_data=False)
    events.Reload()
    found = [
        (event.wall_time, event.step, tag, event.value)
        for tag in events.Tags()[reading.SCALARS]
        for event in events.Scalars(tag)
    ]
    for _, step, tag, value in sorted(found, key=lambda one: one[0]):
        collector.record(step)
        collector.add(tag, value)
