"""`bisect`: an overlay and a command that fails with it → the fewest operations that make it fail."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npu_overlays.authoring.bisect.bisect import bisect
from npu_overlays.commands.command import OneOverlay, json_option, option
from npu_overlays.commands.notes import units_as_json
from npu_overlays.commands.selection import select
from npu_overlays.pipeline.preparation import subject
from npu_overlays.progress import about
from npu_summary.plurals import plural

if TYPE_CHECKING:
    from npu_overlays.authoring.bisect.bisect import BisectResult
    from npu_overlays.commands.console import Console

SUMMARY = "find the fewest operations of an overlay that make a command fail"
DESCRIPTION = """\
Find the fewest operations, patches and added files of an overlay that make a
command fail, by running it with parts of the overlay. The command runs in a
folder that holds upstream with one part applied, as a checkout does: the folder
is its working folder, $NPU_OVERLAYS_CHECKOUT, and the first entry of
PYTHONPATH. Install everything else that the command needs: pytest, and what
upstream imports.

The command's exit codes have the meaning that `git bisect run` gives them: 0
passes, 125 cannot tell, 126 and 127 stop the search, any other code and death
by a signal fail. The command has to fail with the whole overlay and to pass on
upstream itself. `bisect` leaves out parts that cannot run, and applies and
names each operation together with what it needs. Each run begins in a clean
folder. The result runs once more; if the command then ends differently,
`bisect` refuses it. If the command ends with another exit code or another last
output than with the whole overlay, `bisect` prints both.

exit codes: 0 found; 2 the command cannot be run, does not fail with the whole
overlay, fails on upstream itself, or ends differently the second time

examples:
  npu-overlays bisect verl@d62da49 -- python -m pytest -q tests/test_protocol_on_cpu.py
  npu-overlays bisect verl@d62da49 -- sh -c '! grep -rq print verl/utils/npu'
"""


@dataclass(frozen=True, kw_only=True)
class Options(OneOverlay):
    """The overlay, the command, and whether the report is JSON."""

    json: bool = json_option()
    words: list[str] = option(
        nargs="+", metavar="-- COMMAND", help="the command that fails with the overlay, and its arguments"
    )


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    (overlay,) = select(options)
    with about(overlay.name):
        found = bisect(subject(overlay, options.choice), options.words)
    if options.json:
        console.json(_as_json(overlay.name, found, options))
        return 0
    number, runs = plural(len(found.units), "operation"), plural(found.runs, "run")
    console.line(f"{overlay.name}: {shlex.join(options.words)} fails with {number} alone ({runs})", style="yellow")
    for unit in found.units:
        console.line(f"  {unit.action:<9} {', '.join(unit.targets)}  [{unit.file}]")
        console.line(f"            {' '.join(unit.reason.why.split())}", style="dim")
    console.line(f"it then {_ended(found.ending.code)}, and says:")
    console.raw(found.ending.shown.rstrip("\n") + "\n")
    if found.is_other:
        said = f"with the whole overlay it fails otherwise: it {_ended(found.whole.code)}, and says:"
        console.notice(f"{overlay.name}: {said}\n{found.whole.shown.rstrip()}")
    return 0


def _ended(code: int) -> str:
    return f"exits with {code}" if code >= 0 else f"is ended by signal {-code}"


def _as_json(name: str, found: BisectResult, options: Options) -> dict[str, object]:
    return {
        "overlay": name,
        "command": list(options.words),
        "runs": found.runs,
        "code": found.ending.code,
        "output": found.ending.shown,
        "otherwise": {"code": found.whole.code, "output": found.whole.shown} if found.is_other else None,
        "units": units_as_json(found.units),
    }
