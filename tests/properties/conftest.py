"""Real upstream modules of the commits and releases that overlays are pinned to; and how many were checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

from npu_overlays.errors import OverlayError
from npu_overlays.overlay.overlay_folders import load_all
from npu_overlays.overlay.project import Overlay
from npu_overlays.sources.acquisition import acquire
from npu_overlays.sources.tree import Mode, SourceTree

OVERLAYS = Path(__file__).parents[2] / "overlays"
pytest.register_assert_rewrite("properties.checks")


Pinned = tuple[Overlay, Mode]
# Of each pin: all of transformers' take five minutes a pin, and differ little from one to the next.
CHOSEN = 100


@dataclass(frozen=True, kw_only=True)
class PinnedModules:
    """The shipped Python modules of a pin: how many there are, and a choice that no earlier pin has, by path."""

    count: int
    contents: dict[str, bytes]


def pinned() -> list[Pinned]:
    """Return every overlay with each way its pin can be had: commits before release archives."""
    overlays = sorted(load_all(OVERLAYS), key=lambda overlay: (bool(overlay.pin.archives), overlay.name))
    archives: list[Pinned] = [(overlay, "archive") for overlay in overlays if overlay.pin.archives]
    return [*((overlay, "git") for overlay in overlays if overlay.pin.commit), *archives]


def modules(pin: Pinned) -> PinnedModules:
    """Return the modules of a pin; skips the test where it cannot be had."""
    overlay, _ = pin
    tree = _acquired(pin)
    if isinstance(tree, str):
        pytest.skip(f"{overlay.name} cannot be had here: {tree}")
    listed = pinned()
    earlier = [_acquired(other) for other in listed[: listed.index(pin)]]
    seen: set[str] = set()
    for other in earlier:
        if isinstance(other, SourceTree):
            seen.update(entry.blob for entry in other.entries.values())
    paths = [path for path in tree.entries if path.endswith(".py") and overlay.pin.place(path)]
    new = (path for path in paths if tree.entries[path].blob not in seen)
    # By what they hold, which is as good as by lot and always the same.
    chosen = sorted(new, key=lambda path: tree.entries[path].blob)[:CHOSEN]
    return PinnedModules(count=len(paths), contents={path: tree.read(path) for path in chosen})


@cache
def _acquired(pin: Pinned) -> SourceTree | str:
    overlay, mode = pin
    try:
        return acquire(overlay.pin, mode=mode)
    except OverlayError as error:
        return error.problems[0].what


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Tell how many different modules and their functions were checked, also without ``-s``."""
    reports = [report for report in terminalreporter.stats.get("passed", []) if report.when == "call"]
    covered = [dict(report.user_properties) for report in reports if "properties" in report.nodeid]
    totals = dict.fromkeys(("modules", "replaced functions", "wrapped functions"), 0)
    for properties in covered:
        for unit in totals:
            totals[unit] += int(properties.get(unit, 0))
    if totals["modules"]:
        told = ", ".join(f"{count} {unit}" for unit, count in totals.items())
        terminalreporter.write_line(f"properties checked on real upstream source: {told}")
