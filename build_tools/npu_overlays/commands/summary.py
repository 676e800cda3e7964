"""`summary`: a wheel file → what it says of itself."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from npu_overlays.commands.command import Command
from npu_overlays.console import Console

_DESCRIPTION = """\
Print what a wheel says of itself, without installing it. Once it is installed,
`python -I -m verl_npu_summary` says the same, and takes the same options.

examples:
  npu-overlays summary wheels/verl_npu-*.whl --why
  npu-overlays summary wheels/verl_npu-*.whl --diff | less
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for.

    Args:
        wheel: the file.
        style: ``text``, ``yaml`` or ``json``.
        why: whether to add the reason of every change.
        diff: whether to print the diff instead.
    """

    wheel: Path
    style: Literal["text", "yaml", "json"]
    why: bool
    diff: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("wheel", type=Path, metavar="WHEEL")
    parser.add_argument("--format", choices=["text", "yaml", "json"], default="text", help="default: text")
    parser.add_argument("--why", action="store_true", help="add the reason of every change")
    parser.add_argument("--diff", action="store_true", help="print the diff the wheel carries")


def _read(parsed: argparse.Namespace) -> Options:
    return Options(wheel=parsed.wheel, style=parsed.format, why=parsed.why, diff=parsed.diff)


def _run(options: Options, console: Console) -> int:
    from npu_overlays.wheels.inspection import wheel_summary  # noqa: PLC0415  # only needed here

    console.raw(wheel_summary(options.wheel, style=options.style, why=options.why, diff=options.diff))
    return 0


COMMAND = Command(
    name="summary",
    summary="print what a wheel says of itself, without installing it",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    read=_read,
    run=_run,
    tidy=False,
)
