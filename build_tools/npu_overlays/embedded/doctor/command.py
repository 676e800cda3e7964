"""The command ``--doctor``: arguments in, a report on standard output, an exit code out."""

from __future__ import annotations

import argparse
import json

from .. import stream
from .context import Context
from .data import DataError, Knowledge, load
from .examine import examine
from .model import UNKNOWN, Report
from .render import render
from .system import System

_EXAMPLES = """\
examples:
  python -m {package} --doctor                       this machine against the published tables
  python -m {package} --doctor --stack vllm-0.11     and against one stack
  python -m {package} --doctor --deterministic       and the variables of a reproducible run
  python -m {package} --doctor --json > node.json    for programs, and to compare machines

levels: matched (published together), compatible (a published range allows it, or it works but is at risk),
broken, unknown. torch and torch_npu are imported in a child process only.

exit codes:
  0  everything is matched or compatible
  1  something is broken
  2  something could not be told, or the command line is wrong
"""


def parser(package: str, stacks: list[str]) -> argparse.ArgumentParser:
    """Return the parser."""
    cli = argparse.ArgumentParser(
        prog=f"python -m {package} --doctor",
        description="Examine this machine: versions, environment, devices and packages, against what is known to work.",
        epilog=_EXAMPLES.format(package=package),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    cli.add_argument("-h", "--help", action="store_true", help="show this help and leave")
    cli.add_argument("--doctor", action="store_true", help=argparse.SUPPRESS)
    cli.add_argument("--stack", metavar="NAME", help=f"hold it against this stack: {', '.join(stacks)}")
    cli.add_argument("--deterministic", action="store_true", help="also check the variables of a reproducible run")
    cli.add_argument("--json", action="store_true", help="print JSON")
    cli.add_argument("--no-import", action="store_true", help="do not try to import torch and torch_npu")
    cli.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="FILE",
        help="more tables, ranges and stacks (JSON; may be repeated)",
    )
    return cli


def main(arguments: list[str], package: str, system: System | None = None) -> int:
    """Run the command.

    Args:
        arguments: those after the program's name; ``--doctor`` may be among them.
        package: the name the summary package was run by.
        system: the machine, the real one by default.

    Returns:
        The exit code.
    """
    own = load()
    cli = parser(package, [stack.name for stack in own.stacks])
    options = cli.parse_args(arguments)
    if options.help:
        return _print(cli.format_help(), package, 0)
    try:
        knowledge = load(options.data) if options.data else own
        report = run(options, knowledge, system or System())
    except DataError as error:
        stream.warn(f"error: {error}", package=package)
        return UNKNOWN
    content = json.dumps(report.as_json(), indent=1) + "\n" if options.json else render(report)
    return _print(content, package, report.exit_code)


def run(options: argparse.Namespace, knowledge: Knowledge, system: System) -> Report:
    """Examine a machine as the options say; raises `DataError` for an unknown stack."""
    return examine(
        Context(
            system=system,
            knowledge=knowledge,
            stack=knowledge.stack(options.stack) if options.stack else None,
            deterministic=options.deterministic,
            imports=not options.no_import,
        )
    )


def _print(content: str, package: str, code: int) -> int:
    if problem := stream.emit(content):
        stream.warn(f"error: {problem}", package=package)
        return UNKNOWN
    return code
