"""The command line: arguments → options.

A wheel's summary has options for these commands (``python -m verl_npu_summary --doctor``), which are translated first.
"""

from __future__ import annotations

import argparse
import textwrap

from npu_doctor.jsonfiles import DataError
from npu_summary.suggestions import SuggestingParser

COMMANDS = ("doctor", "audit", "cluster")
# By command: the option of a summary that stands for it, and the options that go with it.
_NAMED_BY = {
    "doctor": ("--doctor", ("--doctor",)),
    "audit": ("--audit", ("--audit",)),
    "cluster": ("--ray", ("--verify", "--doctor")),
}
_WIDTH = 98  # columns, without the indent
_DOCTOR = """\
Examine versions, environment, devices and packages.

the three most common tasks:
  python -m npu_doctor                      does this machine fit the stack of the installed wheels?
  python -m npu_doctor audit                did anything replace patched code at run time?
  python -m npu_doctor cluster              are the files intact on every node of the Ray cluster?
"""
# By command: its examples, and what its exit codes mean.
_EXAMPLES = {
    "doctor": """\
examples:
  python -m npu_doctor --stack {stack}   does it fit another stack?
  python -m npu_doctor --deterministic      check the variables of a reproducible run, too
  python -m npu_doctor --data lab.json      use tables, ranges and stacks of your own, too
  python -m npu_doctor --no-import --json > node.json

The other commands have help, too: python -m npu_doctor audit --help
`python -m verl_npu_summary --doctor` does the same as `python -m npu_doctor`.
""",
    "audit": """\
examples:
  python -m npu_doctor audit
  python -m npu_doctor audit --script train.py -- --steps 1

`python -m verl_npu_summary --audit` does the same.
""",
    "cluster": """\
examples:
  python -m npu_doctor cluster
  python -m npu_doctor cluster --doctor     do the nodes fit, and are they alike?

`python -m verl_npu_summary --verify --ray` does the same.
""",
}
_LEVELS = """
stacks:
  {stacks}

levels:
  matched     as published together
  compatible  a published range allows it, or it works but is at risk
  broken      it will fail; the row shows the message, and what to do
  unknown     it could not be checked
"""
_EXIT_CODES = """
exit codes:
  0  {good}
  1  {bad}
  2  {untold}, or the command line is wrong
"""
_VERDICTS = {
    "doctor": ("all rows are matched or compatible", "something is broken", "nothing is broken, and a row is unknown"),
    "audit": ("nothing was replaced", "something was replaced", "it could not be told"),
    "cluster": ("all nodes are intact and alike", "they are not", "it could not be told"),
}


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the arguments; exits with code 2 and a message if they are wrong.

    Returns:
        `command` is one of `COMMANDS`, `help` the text to print instead of running it, or empty.
    """
    command, given, mistake = _command(argv)
    parser = _PARSERS[command]()
    if mistake:
        parser.error(mistake)
    if command == "doctor" and given and not given[0].startswith("-"):
        parser.error(f"there is no command '{given[0]}'; the commands: {', '.join(COMMANDS)}")
    options = parser.parse_args(given)
    if command == "audit" and options.arguments and not options.script:
        parser.error(f"unrecognized arguments: {' '.join(options.arguments)}")
    options.command = command
    if options.help:
        parser.epilog = _epilog(command)
    options.help = parser.format_help() if options.help else ""
    return options


def _command(argv: list[str]) -> tuple[str, list[str], str]:
    """Return the command, its arguments, and an error if options exclude each other (else empty)."""
    if argv[:1] and argv[0] in COMMANDS:
        return argv[0], argv[1:], ""
    end = argv.index("--") if "--" in argv else len(argv)
    own, rest = argv[:end], argv[end:]
    on_cluster = any(one.partition("=")[0] == "--ray" for one in own)
    command = "cluster" if on_cluster else "audit" if "--audit" in own else "doctor"
    name, fitting = _NAMED_BY[command]
    others = [flag for flag in ("--verify", "--audit", "--doctor") if flag in own and flag not in fitting]
    mistake = f"give {others[0]} or {name}, not both" if others else ""
    if command == "doctor" and others:
        mistake = "run --verify and --doctor one after the other; together they go with --ray"
    # On a cluster `--doctor` is an option of its own.
    taken = {name, "--verify"}
    return command, [*(one for one in own if one not in taken or one == "--ray"), *rest], mistake


def _epilog(command: str) -> str:
    """Return the examples of a command, the stacks where it takes one, and its exit codes."""
    from npu_doctor.knowledge import load  # noqa: PLC0415  # only help names the stacks

    try:
        known = load()
        named, first = known.names(), next(stack.name for stack in known.stacks if not stack.record)
    except DataError as error:  # of a damaged installation
        named, first = f"not readable: {error}", "NAME"
    text = _EXAMPLES[command].format(stack=first)
    if command != "audit":
        text += _LEVELS.format(stacks=textwrap.fill(named, _WIDTH, subsequent_indent="  ", break_on_hyphens=False))
    good, bad, untold = _VERDICTS[command]
    return text + _EXIT_CODES.format(good=good, bad=bad, untold=untold)


def _parser(command: str, description: str) -> argparse.ArgumentParser:
    """Return a parser; ``--help`` is an ordinary flag so that it is printed as safely as the rest."""
    parser = SuggestingParser(
        prog=f"python -m npu_doctor {command}".rstrip(),
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.words = COMMANDS
    parser.add_argument("-h", "--help", action="store_true", help="show this help and exit")
    parser.add_argument("--json", action="store_true", help="print JSON for a machine to read")
    return parser


def _doctor() -> argparse.ArgumentParser:
    parser = _parser("", _DOCTOR)
    _add_doctor(parser)
    parser.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="FILE",
        help="more tables, ranges and stacks, as JSON (may be given more than once)",
    )
    return parser


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stack", default="", metavar="NAME", help="compare the machine with this stack (default: that of the wheels)"
    )
    parser.add_argument("--deterministic", action="store_true", help="also check the variables of a reproducible run")
    parser.add_argument("--no-import", action="store_true", help="do not import torch and torch_npu in a child process")


def _audit() -> argparse.ArgumentParser:
    parser = _parser("audit", "Import the patched modules and report what other code replaced at run time.")
    _add_distribution(parser)
    parser.add_argument(
        "--import",
        dest="import_",
        action="append",
        default=[],
        metavar="MODULE",
        help="import this instead of the modules of the summary (may be given more than once)",
    )
    parser.add_argument(
        "--script", default="", metavar="FILE", help="run this program first; its arguments come after --"
    )
    parser.add_argument("arguments", nargs="*", help=argparse.SUPPRESS)
    return parser


def _cluster() -> argparse.ArgumentParser:
    parser = _parser("cluster", "Compare the installed files with the build, on every node of a Ray cluster.")
    _add_distribution(parser)
    parser.add_argument(
        "--ray",
        nargs="?",
        const="auto",
        default="auto",
        metavar="ADDRESS",
        help="the cluster (default: the one this machine belongs to)",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="how long to wait for the nodes (default: %(default)g)",
    )
    parser.add_argument("--doctor", action="store_true", help="also examine every node, with these options:")
    _add_doctor(parser)
    return parser


def _add_distribution(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--distribution",
        action="append",
        default=[],
        metavar="NAME",
        help="only this distribution, by its own name or upstream's (may be given more than once)",
    )


def seconds(text: str) -> float:
    """Return a time to wait; argparse names this function in its message."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


_PARSERS = {"doctor": _doctor, "audit": _audit, "cluster": _cluster}
