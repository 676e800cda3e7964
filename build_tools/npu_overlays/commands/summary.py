"""`summary`: a wheel file → its summary."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from npu_overlays.commands.command import flag, option
from npu_overlays.commands.console import Console
from npu_overlays.files import write_atomically

SUMMARY = "print the summary of a wheel, without installing it"
TIDY = False
DESCRIPTION = """\
Print the summary of a wheel without installing it. Once the wheel is installed,
`python -I -m verl_npu_summary` prints the same and takes the same options.

examples:
  npu-overlays summary wheels/verl_npu-*.whl --why
  npu-overlays summary wheels/verl_npu-*.whl --diff | less
  npu-overlays summary wheels/verl_npu-*.whl --html verl.html
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The wheel, and how to print its summary."""

    wheel: Path = option(type=Path, metavar="WHEEL", help="a patched wheel")
    style: Literal["text", "yaml", "json"] = option(
        "--format", alternative="optional", choices=["text", "yaml", "json"], default="text", help="default: text"
    )
    why: bool = flag("--why", "add the reason of every change")
    all: bool = flag("--all", "list every import and every definition of one form, which the text counts otherwise")
    diff: bool = flag("--diff", "print the diff that the wheel carries", alternative="optional")
    html: Path | None = option(
        "--html",
        alternative="optional",
        type=Path,
        metavar="FILE",
        help="write reasons and diff as one page for a browser",
    )


def run(options: Options, console: Console) -> int:
    """Run the command and report; returns the exit code, raises `OverlayError`."""
    from npu_overlays.wheels.inspection import wheel_page, wheel_summary  # noqa: PLC0415  # only needed here

    if options.html:
        write_atomically(options.html, wheel_page(options.wheel))
        return 0
    shown = wheel_summary(options.wheel, style=options.style, why=options.why, every=options.all, diff=options.diff)
    console.raw(shown)
    return 0
