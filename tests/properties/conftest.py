"""The real upstream modules the overlays are pinned to, each content once; and how many were checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

from npu_overlays.errors import OverlayError
from npu_overlays.lookup import load_all
from npu_overlays.project import Overlay
from npu_overlays.record import installed_path
from npu_overlays.source import Mode, acquire
from npu_overlays.tree import SourceTree

OVERLAYS = Path(__file__).parents[2] / "overlays"
pytest.register_assert_rewrite("properties.checks")


@dataclass(frozen=True, kw_only=True)
class Modules:
    """Python modules of one pin, by repository path."""

    name: str
    contents: dict[str, bytes]


def pinned(mode: Mode) -> list[Overlay]:
    """Return the overlays whose pin can be had that way, those without a release first."""
    listed = [overlay for overlay in load_all(OVERLAYS) if mode == "git" or overlay.pin.archives]
    return sorted(listed, key=lambda overlay: (bool(overlay.pin.archives), overlay.name))


def modules(overlay: Overlay, mode: Mode) -> Modules:
    """Return the modules of a pin that no overlay before it has; skips the test where the pin cannot be had."""
    tree = _acquired(overlay, mode)
    if isinstance(tree, str):
        pytest.skip(f"{overlay.name} cannot be had here: {tree}")
    earlier = [_acquired(other, mode) for other in _before(overlay, mode)]
    seen = {entry.blob for other in earlier if isinstance(other, SourceTree) for entry in other.entries.values()}
    paths = (path for path, entry in tree.entries.items() if path.endswith(".py") and entry.blob not in seen)
    kept = [path for path in paths if installed_path(overlay.pin, path)]
    return Modules(name=overlay.name, contents={path: tree.read(path) for path in kept})


def _before(overlay: Overlay, mode: Mode) -> Iterable[Overlay]:
    listed = pinned(mode)
    return listed[: [other.name for other in listed].index(overlay.name)]


@cache
def _acquired(overlay: Overlay, mode: Mode) -> SourceTree | str:
    try:
        return acquire(overlay.pin, mode=mode)
    except OverlayError as error:
        return error.problems[0].what


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Tell how many modules and functions the properties were checked on, also without ``-s``."""
    reports = [report for report in terminalreporter.stats.get("passed", []) if report.when == "call"]
    covered = [dict(report.user_properties) for report in reports if "properties" in report.nodeid]
    totals = {
        unit: sum(int(properties.get(unit, 0)) for properties in covered)
        for unit in ("modules", "replaced functions", "wrapped functions")
    }
    if totals["modules"]:
        told = ", ".join(f"{count} {unit}" for unit, count in totals.items())
        terminalreporter.write_line(f"properties of real upstream source checked on {told}")
