"""`compare`: two runs, or groups of runs → whether one is as precise as the other."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from npu_recipes.commands.command import Command
from npu_recipes.commands.parser import add_json
from npu_recipes.console import Console
from npu_recipes.errors import Problem, RecipeError

_DESCRIPTION = """\
Compare what two runs logged, metric by metric.
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for: the run to trust, the run to judge, and whether the report is JSON."""

    reference: str
    run: str
    json: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", metavar="A", help="what the GPU run logged")
    parser.add_argument("run", metavar="B", help="what the NPU run logged")
    add_json(parser)


def _read(parsed: argparse.Namespace) -> Options:
    return Options(reference=parsed.reference, run=parsed.run, json=parsed.json)


def _run(options: Options, console: Console) -> int:
    raise RecipeError(Problem(where=options.reference, what="this is being written"))


COMMAND = Command(
    name="compare",
    summary="compare what two runs logged",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    read=_read,
    run=_run,
)
