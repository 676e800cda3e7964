"""Arguments: the command line's grammar and its help."""

from __future__ import annotations

import argparse
import difflib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from packaging.utils import canonicalize_name

from npu_overlays import __version__, commands, listing
from npu_overlays.commands import Command

_DESCRIPTION = """\
Build verl-npu and transformers-npu: a pinned upstream commit with an overlay
merged in at packaging time. Nothing is patched at run time.
"""
_EPILOG = """\
examples:
  npu-overlays build                          the default stack, into wheels/
  npu-overlays build --stack mindspeed-rl-2.3
  npu-overlays build verl@v0.6.1 --source archive --out /tmp/w
  npu-overlays build verl@796871d --upstream verl=~/src/verl
  npu-overlays show transformers@8365f70      every operation and its reason
  npu-overlays diff verl@d62da49 | less       what the wheel changes
  npu-overlays lock verl@d62da49              after writing an operation
  npu-overlays summary wheels/verl_npu-*.whl  what a wheel says of itself

exit codes:
  0  done
  1  an unexpected failure (please report it with --verbose)
  2  the command line, or a variable that stands for an option, is wrong
  3  an overlay's pyproject.toml, overlay.lock or stacks.toml is wrong, or there is no such overlay
  4  the pinned upstream cannot be had, or is not what the pin says
  5  the overlay does not fit the upstream source
  6  a file cannot be written, or is not a wheel of ours
  130  interrupted (143 by SIGTERM, 129 by SIGHUP)

environment:
  NPU_OVERLAYS_CACHE       where upstream sources are kept
  NPU_OVERLAYS_PATIENCE    seconds to wait for a connection that nobody answers (20)
  NPU_OVERLAYS_SOURCE      auto, git or archive, like --source
  VERL_PATH, TRANSFORMERS_PATH   a local clone, like --upstream
  NO_COLOR                 no colours
"""


def _upstream(text: str) -> tuple[str, Path]:
    """Parse ``NAME=PATH``."""
    name, separator, path = text.partition("=")
    if not separator or not name or not path:
        msg = f"`{text}` is not NAME=PATH, e.g. verl=~/src/verl"
        raise argparse.ArgumentTypeError(msg)
    return canonicalize_name(name), Path(path).expanduser().absolute()


def _folder(text: str) -> Path:
    """Return a folder as messages are to show it: whole, and without the way there."""
    path = Path(text).expanduser()
    # With "..", only the disk knows: one step up from a link leads elsewhere than its name says.
    return path.resolve() if ".." in path.parts else path.absolute()


class _Parser(argparse.ArgumentParser):
    """A parser whose refusals name the nearest thing it knows."""

    def parse_known_args(self, *given: Any, **named: Any) -> tuple[Any, list[str]]:
        """Refuse what is unknown here and not in the parser above, which does not know what was meant."""
        parsed, rest = super().parse_known_args(*given, **named)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return parsed, rest

    def error(self, message: str) -> NoReturn:
        """Print usage, what is wrong and what was probably meant; leave with 2."""
        wrong, known = "", ""
        if choice := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            wrong, known = choice[1], choice[2].replace("'", "")
        elif unknown := re.search(r"unrecognized arguments: (--[\w-]+)", message):
            wrong, known = unknown[1], ", ".join(self._option_string_actions)
        nearest = difflib.get_close_matches(wrong, known.split(", "), n=1) if wrong else []
        super().error(f"{message}; did you mean {nearest[0]}?" if nearest else message)


def parser() -> argparse.ArgumentParser:
    """Return the parser; `run` of what it parses is the `Command` to call."""
    root = _Parser(
        prog="npu-overlays",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"npu-overlays {__version__}")
    common = _Parser(add_help=False)
    common.add_argument(
        "--overlays", type=_folder, default="overlays", metavar="DIR", help="folder of overlays (default: overlays)"
    )
    common.add_argument("-v", "--verbose", action="store_true", help="show the traceback of an error")
    commands_ = root.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for add in (
        _add_build,
        _add_list,
        _add_show,
        _add_check,
        _add_lock,
        _add_diff,
        _add_summary,
        _add_verify_wheel,
        _add_matrix,
    ):
        add(commands_, common)
    return root


if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction["_Parser"]


def _command(  # noqa: PLR0913  # what a command is made of
    subparsers: Subparsers, common: _Parser, name: str, run: Command, text: str, *, more: str = ""
) -> argparse.ArgumentParser:
    """Add a command; `text` stands in the list of commands, `more` beside it in the command's own help."""
    description = f"{text[0].upper()}{text[1:]}. {more}".strip()
    parser = subparsers.add_parser(name, parents=[common], help=text, description=description)
    parser.set_defaults(run=run)
    return parser


def _add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "overlay", nargs="*", metavar="OVERLAY", help="verl@796871d, with a tag verl@v0.6.1, or a folder"
    )
    parser.add_argument("--stack", metavar="NAME", help="the overlays of a stack (default: the default stack)")
    parser.add_argument("--all", action="store_true", help="every overlay, whatever is named")


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", choices=["auto", "git", "archive"], help="auto tries git, then the release archive")
    parser.add_argument(
        "--upstream",
        action="append",
        default=[],
        type=_upstream,
        metavar="NAME=PATH",
        help="a local clone that holds the commit",
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON for a machine to read")


def _add_build(subparsers: Subparsers, common: _Parser) -> None:
    more = "Each overlay gives its wheel and an empty companion under upstream's name."
    parser = _command(subparsers, common, "build", commands.build, "build wheels", more=more)
    _add_selection(parser)
    parser.add_argument(
        "--out", type=_folder, default="wheels", metavar="DIR", help="where wheels go (default: wheels)"
    )
    parser.add_argument("--force", action="store_true", help="build although nothing changed")
    _add_source(parser)
    _add_json(parser)


def _add_list(subparsers: Subparsers, common: _Parser) -> None:
    _add_json(_command(subparsers, common, "list", listing.list_overlays, "list the overlays and stacks"))


def _add_show(subparsers: Subparsers, common: _Parser) -> None:
    text = "show an overlay's pin, and every operation with its reason"
    parser = _command(subparsers, common, "show", listing.show, text, more="It reads no upstream.")
    parser.add_argument("overlay", nargs=1, metavar="OVERLAY")
    _add_json(parser)


def _add_check(subparsers: Subparsers, common: _Parser) -> None:
    text = "do all that a build does, except writing a wheel"
    more = "It says of each overlay what it found, and reports the mistakes of all."
    parser = _command(subparsers, common, "check", commands.check, text, more=more)
    _add_selection(parser)
    _add_source(parser)
    _add_json(parser)


def _add_lock(subparsers: Subparsers, common: _Parser) -> None:
    text = "write overlay.lock: what each operation depends on in the pinned upstream"
    parser = _command(subparsers, common, "lock", commands.lock, text)
    _add_selection(parser)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a lock would change")
    _add_source(parser)


def _add_diff(subparsers: Subparsers, common: _Parser) -> None:
    text = "print the unified diff between upstream and what the wheel holds"
    more = "An overlay that is not locked yet is applied without its contracts."
    parser = _command(subparsers, common, "diff", commands.diff, text, more=more)
    _add_selection(parser)
    _add_source(parser)


def _add_summary(subparsers: Subparsers, common: _Parser) -> None:
    text = "print what a wheel says of itself, without installing it"
    more = "The options are those of python -m verl_npu_summary."
    parser = _command(subparsers, common, "summary", commands.summary, text, more=more)
    parser.add_argument("wheel", type=Path, metavar="WHEEL")
    parser.add_argument("--format", choices=["text", "yaml", "json"], default="text")
    parser.add_argument("--why", action="store_true", help="add the reason of every change")
    parser.add_argument("--diff", action="store_true", help="print the diff the wheel carries")


def _add_verify_wheel(subparsers: Subparsers, common: _Parser) -> None:
    text = "check that wheels are whole and say the same everywhere, without installing them"
    more = "Looked at are RECORD, manifest, summary, diff, requirements and companion."
    parser = _command(subparsers, common, "verify-wheel", commands.verify_wheels, text, more=more)
    parser.add_argument("wheel", type=Path, nargs="+", metavar="FILE")
    _add_json(parser)


def _add_matrix(subparsers: Subparsers, common: _Parser) -> None:
    text = "print CI's matrix, one cell for each overlay and Python"
    parser = _command(subparsers, common, "matrix", commands.matrix, text, more="It is made from what is on disk.")
    parser.add_argument(
        "--format", choices=["json", "github"], default="json", help="github: a line for $GITHUB_OUTPUT"
    )
