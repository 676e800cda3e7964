"""`compare`: two runs, or groups of runs → whether one is as precise as the other."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from npu_recipes.commands.parser import Command, add_json
from npu_recipes.comparison import DEFAULTS, Bounds, Limit, compare, read_limit, read_limits
from npu_recipes.console import Console
from npu_recipes.errors import Problem, RecipeError
from npu_recipes.files import at_home, write_whole
from npu_recipes.reports.comparison import as_data, report
from npu_recipes.runs import Run, read_groups

_DESCRIPTION = """\
Compare the logs of two runs. They are aligned by step. For every metric you get
the mean over the steps of |B - A| / |A|, the largest error, the first step that
diverges, and whether the mean is within its limit.

A and B are logs of verl: console, the file logger's jsonl, a folder of
TensorBoard event files (with `pip install 'npu-recipes[tensorboard]'`), CSV, or
a wandb history. Logs of other trainers work, too: trainer_state.json (Hugging
Face), trainer_log.jsonl (LLaMA-Factory), logging.jsonl (ms-swift), and the
console output of these and of Megatron-LM. The format is recognised by content.

  a.log,b.log or 'gpu-*.log'   several seeds: their means are compared
  FILE#RUN                     one run of a wandb export
  FIRST.log+SECOND.log         one run that was resumed
  runs/grpo-qwen3-8b           the folder of `npu-recipes run`

The default limits come from verl's page on Ascend of 2025: 2% for the loss of
fine-tuning (train/loss, val/loss, and other trainers' names for them), 4% for
the reward (critic/rewards/mean, …/score/mean).

examples:
  npu-recipes compare gpu.log npu.log
  npu-recipes compare 'gpu-*.log' 'npu-*.log' --html page.html
  npu-recipes compare gpu.log runs/grpo-qwen3-8b --min-steps 100
  npu-recipes compare gpu/trainer_state.json npu/trainer_log.jsonl
  npu-recipes compare gpu.jsonl npu.log --limit 'val-core/*=5%' --steps 1:200
  npu-recipes compare gpu.log npu.log --limit 'critic/score/mean=none' --json

exit codes:
  0  every metric that has a limit and a verdict is within its limit
  1  at least one is beyond its limit
  2  no verdict: wrong usage, nothing to read, no step in common
"""
_CODES = {"within": 0, "beyond": 1, "unusable": 2}


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of `compare`."""

    reference: str  # the runs to trust
    run: str  # the runs to judge
    more: list[str]  # further words, which are a mistake
    limit: list[str]  # limits as given; the first that fits a metric counts
    limits: Path | None  # a file with further limits
    steps: str  # the first and the last step that count, as given
    min_steps: int  # at how many steps a metric has to be compared
    html: Path | None  # where to write a page, if anywhere
    all: bool  # whether metrics without a limit are listed
    json: bool  # whether the report is JSON


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", metavar="A", help="the log of the reference, for example on GPUs")
    parser.add_argument("run", metavar="B", help="the log of the run to judge, for example on NPUs")
    parser.add_argument("more", nargs="*", default=[], help=argparse.SUPPRESS)
    text = "the mean error that a metric may have: 4%%, 0.04 or none; * in NAME matches anything"
    text += " (may be given more than once)"
    parser.add_argument("--limit", action="append", default=[], metavar="NAME=VALUE", help=text)
    parser.add_argument("--limits", type=at_home, metavar="FILE", help="limits in YAML, one a line: `NAME: 4%%`")
    parser.add_argument("--steps", default=":", metavar="FROM:TO", help="compare only these steps; both are optional")
    text = "give no verdict for a metric that is compared at fewer steps, unless it is beyond its limit (default: 1)"
    parser.add_argument("--min-steps", type=int, default=1, metavar="N", help=text)
    parser.add_argument("--html", type=at_home, metavar="FILE", help="also write a page with curves")
    parser.add_argument("--all", action="store_true", help="also list metrics without a limit")
    add_json(parser)


def _checked(options: Options) -> tuple[list[Limit], Bounds]:
    """Return the limits and the steps that count; raises `RecipeError` with every mistake in the options."""
    problems: list[Problem] = []
    if options.more:
        fix = "put a pattern into quotes, and commas between several seeds: 'gpu-*.log' npu-1.log,npu-2.log"
        problems.append(Problem(where=" ".join(options.more), what="is more than A and B", fix=fix))
    limits = _limits(options, problems)
    steps = _steps(options.steps, problems)
    if options.min_steps < 1:
        where = f"--min-steps {options.min_steps}"
        problems.append(Problem(where=where, what="is less than one step", fix="write 1 or more"))
    if problems:
        raise RecipeError(problems)
    return limits, steps


def _limits(options: Options, problems: list[Problem]) -> list[Limit]:
    limits: list[Limit] = []
    for stated in (*options.limit, options.limits):
        try:
            if isinstance(stated, str):
                limits.append(read_limit(stated))
            elif stated:
                limits += read_limits(stated)
        except RecipeError as error:
            problems.extend(error.problems)
    return [*limits, *DEFAULTS]


def _steps(text: str, problems: list[Problem]) -> Bounds:
    written = re.fullmatch(r"(\d*):(\d*)", text)
    if not written:
        fix = "write FROM:TO, e.g. 1:200, 1: or :200"
        problems.append(Problem(where=f"--steps {text}", what="is no range of steps", fix=fix))
        return None, None
    first, last = (int(bound) if bound else None for bound in written.groups())
    if first is not None and last is not None and last < first:
        problems.append(Problem(where=f"--steps {text}", what="ends before it begins", fix=f"write {last}:{first}"))
    return first, last


def _run(options: Options, console: Console) -> int:
    limits, steps = _checked(options)
    console.step("reading")
    reference, run = read_groups(options.reference, options.run)
    if options.html:
        _refuse_overwriting(options.html, [*reference, *run])
    reference, run = _with_notes(reference, []), _with_notes(run, reference)
    comparison = compare(reference, run, limits, steps=steps, least=options.min_steps)
    if options.html:
        from npu_recipes.reports.page import page  # noqa: PLC0415  # matplotlib takes half a second

        content = page(comparison, tell=console.step).encode(errors="backslashreplace")
        write_whole(options.html, content, option="--html")
    if options.json:
        console.json(as_data(comparison))
    else:
        report(comparison, console, everything=options.all)
        console.problems(comparison.problems)
    return _CODES[comparison.verdict]


def _with_notes(runs: Sequence[Run], reference: Sequence[Run]) -> list[Run]:
    """Return the runs, each with a note if it is also a reference, and if it is named twice, say by a pattern, too."""
    found = []
    references, earlier = [one.places for one in reference], []
    for run in runs:
        notes = list(run.notes)
        if run.places in references:
            notes.append("is a reference, too: it is compared with itself")
        if run.places in earlier:
            notes.append("is named twice: it counts as two runs, and makes their spread smaller than it is")
        earlier.append(run.places)
        found.append(replace(run, notes=tuple(notes)))
    return found


def _refuse_overwriting(file: Path, runs: Sequence[Run]) -> None:
    """Refuse a page that would replace a run's file: the name of a run was taken as the value of ``--html``."""
    if not file.is_file():
        return
    for place, _ in chain.from_iterable(run.places for run in runs):
        if place.is_file() and place.samefile(file):
            raise RecipeError(Problem(where=f"--html {file}", what="is one of the runs", fix="name another file"))


COMMANDS = {
    "compare": Command(
        name="compare",
        summary="compare the logs of two runs, metric by metric, with limits",
        description=_DESCRIPTION,
        arguments=_add_arguments,
        options=Options,
        run=_run,
    )
}
