"""An overlay → docs/rivals.md and docs/rivals.svg in both languages; leaves with 2 where a way does not get there."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from measurements import Measurement, seconds
from rich.console import Console

from environments import ROOT
from npu_overlays.errors import OverlayError
from npu_overlays.files import write_atomically
from npu_overlays.overlay.overlay_folders import find_overlay
from rivals import nodes, ways
from rivals.chart import pictures
from rivals.page import NodeCost, PageFacts, WayCost, pages
from rivals.preparation import ContenderInputs, prepare

DOCS = ROOT / "docs"
_STARTS = 20


def main() -> int:
    """Measure and write the pages; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--overlay", default="transformers@5.10.4", help="the overlay that is built")
    parser.add_argument("--repeats", type=int, default=5, help="counted runs of each way (default: 5)")
    options = parser.parse_args()
    console = Console(stderr=True)
    try:
        with tempfile.TemporaryDirectory(prefix="npu-overlays-rivals-") as folder, console.status("") as status:
            measured(Path(folder), options.overlay, options.repeats, status.update)
    except (OverlayError, subprocess.CalledProcessError) as error:
        output = getattr(error, "stderr", None) or getattr(error, "output", None) or ""
        text = output.decode(errors="replace") if isinstance(output, bytes) else output
        console.print(str(error), text[-4000:], style="red", markup=False, soft_wrap=True)
        return 2
    return 0


def measured(work: Path, name: str, repeats: int, told: ways.Told) -> None:
    """Measure all ways in a folder, and write the pages."""
    prepared = prepare(find_overlay(ROOT / "overlays", name), work, told)
    found = ways.ways(prepared, work)
    took = ways.measure(found, work, repeats, told)
    distribution = prepared.overlay.pin.archives[0].distribution
    differing = ways.differing(found, work, distribution)
    rows = [
        WayCost(
            name=way.name,
            making=seconds(took[way.name].making),
            installing=seconds(took[way.name].installing),
            differing=differing[way.name] if way.patched else None,
        )
        for way in found
    ]
    wheels = {nodes.OURS: found[0].wheels, nodes.UPSTREAM: found[-1].wheels}
    starts = nodes.measure(wheels, distribution, work, max(repeats, _STARTS), told)
    installed = {nodes.OURS: took[found[0].name].installing, nodes.UPSTREAM: took[found[-1].name].installing}
    paid = [_node("`pip install`", installed), *(_node(what, taken) for what, taken in starts.items())]
    for page, text in {**pages(_setting(prepared, repeats), rows, paid), **pictures(rows)}.items():
        write_atomically(DOCS / page, text.encode())


def _node(what: str, taken: dict[str, list[Measurement]]) -> NodeCost:
    return NodeCost(what=what, patched=seconds(taken[nodes.OURS]), upstream=seconds(taken[nodes.UPSTREAM]))


def _setting(prepared: ContenderInputs, repeats: int) -> PageFacts:
    return PageFacts(
        overlay=prepared.overlay.name,
        distribution=prepared.overlay.pin.archives[0].distribution,
        version=prepared.version,
        fromager=prepared.fromager_version,
        lines=len(prepared.patch.read_text("utf-8").splitlines()),
        repeats=repeats,
        cores=os.cpu_count() or 1,
        python=platform.python_version(),
        date=datetime.now(timezone.utc).date().isoformat(),
    )


if __name__ == "__main__":
    sys.exit(main())
