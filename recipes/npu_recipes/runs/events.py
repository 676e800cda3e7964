"""Event files: what TensorBoard shows → a collector. TensorBoard's own package reads them; it is an optional extra."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.runs.collector import Collector

FORM = "TensorBoard event files"
SIGN = "tfevents"
# Megatron-LM gives its metrics again, under such names, by the number of samples in place of steps.
_BY_SAMPLES = " vs samples"
# The first record of such a file says that, within so many bytes.
_VERSION, _HEAD = b"brain.Event:", 64


def event_folder(place: Path) -> Path | None:
    """Return what holds the event files of one run: the file itself, or the one folder below that has any.

    Raises:
        RecipeError: several folders have some, and each is a run of its own; or what is named as one of them is none.
    """
    if place.is_file():
        return place if _begins_as_events(place) else None
    files = sorted(file for file in place.rglob(f"*{SIGN}*") if file.is_file())
    # TensorBoard takes a file for one of events by its name; one that is empty was only begun.
    if others := [file for file in files if file.stat().st_size and not _begins_as_events(file)]:
        what = "is named as an event file of TensorBoard, and is none"
        fix = "move it elsewhere; one that is packed, unpack"
        raise RecipeError(Problem(where=str(file), what=what, fix=fix) for file in others)
    folders = sorted({file.parent for file in files})
    if len(folders) > 1:
        listed = ", ".join(str(folder.relative_to(place)) for folder in folders[:5])
        what = f"holds event files of {len(folders)} runs: {listed}{', …' if len(folders) > 5 else ''}"  # noqa: PLR2004  # enough to know them by
        # The folder itself stands for all of them: its own files are named one by one.
        own = sorted(map(str, place.glob(f"*{SIGN}*"))) if folders[0] == place else [str(folders[0])]
        raise RecipeError(Problem(where=str(place), what=what, fix=f"name one of them: {'+'.join(own)}"))
    return folders[0] if folders else None


def _begins_as_events(file: Path) -> bool:
    """Return whether a file is one of events under another name, as a copy or a pipe has it."""
    with file.open("rb") as content:
        return _VERSION in content.read(_HEAD)


@contextmanager
def _under_its_name(place: Path) -> Iterator[Path]:
    """Yield a path by which TensorBoard takes a file for one of events: it goes by the name."""
    if place.is_dir() or SIGN in place.name:
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="npu-recipes-") as folder:
        link = Path(folder, SIGN)
        link.symlink_to(place.resolve())
        yield link


class _Losses(logging.Handler):
    """Counts the files that TensorBoard cannot read to their end, which it says to its log alone."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.files: set[object] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Note a file that TensorBoard reports as truncated."""
        if record.msg.startswith("Truncated record"):
            self.files.add(record.args[0] if isinstance(record.args, tuple) else None)


@contextmanager
def _listening() -> Iterator[_Losses]:
    log, losses = logging.getLogger("tensorboard"), _Losses()
    before = log.level, log.propagate
    log.addHandler(losses)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    try:
        yield losses
    finally:
        log.removeHandler(losses)
        log.setLevel(before[0])
        log.propagate = before[1]


def read_events(place: Path, collector: Collector) -> list[str]:
    """Read an event file, or all of a folder; returns notes on what was cut off.

    Raises:
        RecipeError: TensorBoard's package is not installed.
    """
    try:
        # It takes a second, and is needed for this form alone.
        from tensorboard.backend.event_processing import event_accumulator as reading  # noqa: PLC0415
    except ImportError as error:
        what = f"is read by the package tensorboard, which cannot be imported: {error}"
        fix = "pip install 'npu-recipes[tensorboard]'"
        raise RecipeError(Problem(where=str(place), what=what, fix=fix)) from error
    with _under_its_name(place) as path, _listening() as losses:
        # By itself it keeps a sample of the values, and drops in silence what a resumed run has logged again.
        events = reading.EventAccumulator(str(path), size_guidance={reading.SCALARS: 0}, purge_orphaned_data=False)
        events.Reload()
    found = []
    for tag in events.Tags()[reading.SCALARS]:
        if not tag.endswith(_BY_SAMPLES):
            found += [(event.wall_time, event.step, tag, event.value) for event in events.Scalars(tag)]
    # Some converters give all of a run one time: of that no metric may look as if it went back behind another.
    for _, step, tag, value in sorted(found, key=lambda one: one[:2]):
        collector.record(step)
        collector.add(tag, value)
    if not losses.files:
        return []
    return [f"{len(losses.files)} event files cannot be read to their end: cut off or damaged, and the rest left out"]
