"""`compare-dumps`: two dumps of a forward → the first module that diverges, and whether an overlay changed it."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from npu_recipes.commands.parser import Command, add_json
from npu_recipes.console import Console
from npu_recipes.dumps.dump_file import opened
from npu_recipes.dumps.fault import Summaries, find
from npu_recipes.dumps.match import match
from npu_recipes.errors import Problem, RecipeError
from npu_recipes.files import at_home
from npu_recipes.reports.dumps import as_data, report

_DESCRIPTION = """\
Compare two dumps of `npu-recipes dump`, recorded with the same weights and the
same batch. The report names the first module whose outputs differ by more than
the tolerance, says whether its inputs agreed, and whether a patched wheel
changed it, according to the wheel's own summary.

The error is the norm of the difference divided by the norm of the reference.
The tolerance depends on the type: float32 1e-4, float16 1e-2, bfloat16 5e-2.

examples:
  npu-recipes compare-dumps gpu.npz npu.npz
  npu-recipes compare-dumps gpu.npz npu.npz --wheel wheels/transformers_npu-*.whl
  npu-recipes compare-dumps gpu.npz npu.npz --tolerance 2 --all

exit codes:
  0  every module agrees
  1  some diverge
  2  no verdict: not a dump, other inputs, other elements of a tensor, a
     forward that failed, or different numbers of forwards
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The dumps, patched wheels, a factor for all tolerances, and how to report."""

    reference: Path
    run: Path
    wheel: list[Path]
    tolerance: float
    all: bool
    json: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", type=at_home, metavar="A", help="the dump of the reference, for example on GPUs")
    parser.add_argument("run", type=at_home, metavar="B", help="the dump to judge, for example on NPUs")
    text = "patched wheels whose summaries to read (default: the installed ones)"
    parser.add_argument("--wheel", type=at_home, nargs="+", default=[], metavar="FILE", help=text)
    parser.add_argument("--tolerance", type=float, default=1.0, metavar="N", help="multiply every tolerance by this")
    parser.add_argument("--all", action="store_true", help="list every module, not only those that diverge")
    add_json(parser)


def _run(options: Options, console: Console) -> int:
    if not 0 < options.tolerance < float("inf"):
        where = f"--tolerance {options.tolerance:g}"
        raise RecipeError(Problem(where=where, what="is no factor", fix="give a number above zero"))
    summaries = Summaries(options.wheel)
    with opened(options.reference) as reference, opened(options.run) as run:
        matching = match(reference, run, options.tolerance)
        finding = find(matching, reference.manifest, run.manifest, summaries)
        if options.json:
            console.json(as_data(finding, everything=options.all))
        else:
            report(finding, console, everything=options.all)
    return int(finding.first is not None)


COMMANDS = {
    "compare-dumps": Command(
        name="compare-dumps",
        summary="find the first module at which two recorded forwards diverge",
        description=_DESCRIPTION,
        arguments=_add_arguments,
        options=Options,
        run=_run,
    )
}
