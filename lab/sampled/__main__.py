"""Sampled commits of upstream → a table of what `port` made of an overlay there, and of what upstream's tests say.

Each overlay is ported to commits out of the range after it, with every proposal of `npu-overlays port` accepted,
and what is left to a person left out. Upstream's own tests for CPU, as they are at that commit, are then run over
upstream and over the patched tree: each has to end the same. What ends otherwise is tried a second time. Beside them,
each module that is changed is imported from both. Our own cases, those for the overlay that is ported, are run over
its wheel and over the port's: one may fail there only where what it proves was left to a person or marked for one, or
where upstream moved what the case itself calls.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from environments import ROOT, Unavailable
from npu_overlays.commands.console import Console
from npu_overlays.errors import OverlayError
from npu_overlays.overlay.source_choice import Choice, choice_from
from npu_overlays.progress import about, step, told_to
from sampled.our_cases import Bench
from sampled.ported_overlay import port
from sampled.samples import RANGES, Range, Sample, samples
from sampled.table import HEADINGS, WIDTHS, Tried, as_json, cells
from verl_tests import Laboratory

KINDS = ("upstream", "ours")
_EPILOG = """\
exit codes: 0 nothing ends otherwise, or it is known why; 1 something does, or a port cannot be locked; 2 no repository
or no package index answers, or what was asked for is wrong
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Try all samples, print what came of them; returns the exit code."""
    options = _parser().parse_args(arguments)
    console = Console(json_output=options.json)
    with console, told_to(console.step), tempfile.TemporaryDirectory(prefix="npu-overlays-sampled-") as scratch:
        try:
            found = []
            for one in _tried(options, (options.keep or Path(scratch)).absolute()):
                found.append(one)
                if not options.json:
                    _tell(console, one, first=len(found) == 1)
        except (OverlayError, Unavailable) as error:
            console.notices(str(error).splitlines())
            return 2
    if options.json:
        console.json(as_json(found))
    else:
        console.line(f"{len(found)} commits, {sum(not one.is_right for one in found)} of them not as they should be")
    return int(not all(one.is_right for one in found))


def _tell(console: Console, one: Tried, *, first: bool) -> None:
    for row in (*((HEADINGS,) if first else ()), cells(one)):
        console.line("  ".join(cell.ljust(width) for cell, width in zip(row, WIDTHS, strict=True)).rstrip())
    for line in one.wrong:
        console.line(f"    {line}", style="red")
    for why, cases in (one.ours.explained if one.ours else {}).items():
        console.line(f"    {len(cases)} of ours left out: {why}")


def _tried(options: argparse.Namespace, work: Path) -> Iterator[Tried]:
    root, ranges = options.overlays.absolute(), options.range or RANGES
    listed, choice = samples(root, ranges, choice_from(os.environ), every=options.every, named=options.commits or ())
    laboratory = Laboratory(folder=work / "environments", python=options.python, clusters=options.clusters)
    # What is built there is built of overlays as they are now.
    shutil.rmtree(work / "origins", ignore_errors=True)
    bench = Bench(folder=work / "origins", overlays=root, clones=choice.clones, ranks=options.clusters)
    if "upstream" in options.tests:
        laboratory.check(sorted({one.range.stack for one in listed}))
    for number, sample in enumerate(listed, 1):
        with about(f"{number} of {len(listed)}, {sample.commit.id[:9]}"):
            place = work / f"{sample.range.name}-{sample.commit.id[:9]}"
            one = _ported(sample, root, choice, place)
            if not one.ported.problems and "upstream" in options.tests:
                step("running upstream's tests twice")
                verdict = laboratory.tried(sample.range.stack, place)
                one = replace(one, verdict=verdict)
            # What our cases need is known of stacks alone.
            if not one.ported.problems and "ours" in options.tests and not options.python:
                one = replace(one, ours=bench.tried(sample, one.ported, place))
            yield one


def _ported(sample: Sample, root: Path, choice: Choice, folder: Path) -> Tried:
    shutil.rmtree(folder, ignore_errors=True)
    # A port is written beside the overlay it is of.
    shutil.copytree(root, folder / "overlays")
    return Tried(
        sample=sample, ported=port(folder / "overlays", sample.range.overlay, sample.commit.id, choice, folder)
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sampled", description=__doc__, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--commits", nargs="+", metavar="ID", help="try these commits alone")
    parser.add_argument("--every", type=int, default=0, metavar="N", help="try every Nth commit, not a few of a range")
    parser.add_argument("--range", action="append", type=_range, metavar="OVERLAY=A..B", help="instead of verl's")
    parser.add_argument("--overlays", type=Path, default=ROOT / "overlays", metavar="DIR", help="where they lie")
    tests = "which tests to run: upstream's own, ours (default: both)"
    parser.add_argument("--tests", nargs="+", choices=KINDS, default=KINDS, help=tests)
    parser.add_argument(
        "--clusters", action="store_true", help="also run the tests that start clusters of Ray or several ranks"
    )
    parser.add_argument("--python", type=Path, help="an interpreter with what upstream's tests need, and none of ours")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave ports, trees and logs of the tests there")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _range(text: str) -> Range:
    overlay, _, span = text.partition("=")
    first, dots, last = span.partition("..")
    if not (overlay and first and dots and last):
        msg = f"`{text}` is not OVERLAY=A..B"
        raise argparse.ArgumentTypeError(msg)
    known = next((one for one in RANGES if one.overlay == overlay), None)
    made = Range(name=overlay, overlay=overlay, first=first, last=last)
    return replace(made, stack=known.stack) if known else made


if __name__ == "__main__":
    sys.exit(main())
