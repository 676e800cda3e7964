"""`summary`: a wheel file → what it says of itself."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from npu_overlays.commands.command import Command
from npu_overlays.commands.console import Console
from npu_overlays.files import write_atomically

_DESCRIPTION = """\
Print the summary of a wheel without installing it. Once the wheel is installed,
`python -I -m verl_npu_summary` prints the same and takes the same options.

examples:
  npu-overlays summary wheels/verl_npu-*.whl --why
  npu-overlays summary wheels/verl_npu-*.whl --diff | less
  npu-overlays summary wheels/verl_npu-*.whl --html verl.html
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for."""

    wheel: Path  # the file
    style: Literal["text", "yaml", "json"]  # `text`, `yaml` or `json`
    why: bool  # whether to add the reason of every change
    all: bool  # whether to list every import in the text
    diff: bool  # whether to print the diff instead
    html: Path | None  # the file to write a page to instead, if any


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("wheel", type=Path, metavar="WHEEL")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--format", dest="style", choices=["text", "yaml", "json"], default="text", help="default: text")
    parser.add_argument("--why", action="store_true", help="add the reason of every change")
    parser.add_argument("--all", action="store_true", help="list every import in the text, which counts them otherwise")
    shown.add_argument("--diff", action="store_true", help="print the diff the wheel carries")
    shown.add_argument("--html", type=Path, metavar="FILE", help="write reasons and diff as one page for a browser")


def _run(options: Options, console: Console) -> int:
    from npu_overlays.wheels.inspection import wheel_page, wheel_summary  # noqa: PLC0415  # only needed here

    if options.html:
        write_atomically(options.html, wheel_page(options.wheel))
        return 0
    shown = wheel_summary(options.wheel, style=options.style, why=options.why, every=options.all, diff=options.diff)
    console.raw(shown)
    return 0


COMMAND = Command(
    name="summary",
    summary="print the summary of a wheel, without installing it",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    options=Options,
    run=_run,
    tidy=False,
)
