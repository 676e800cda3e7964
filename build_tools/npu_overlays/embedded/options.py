"""The command line: arguments in, options out. Imported only when there are arguments, since argparse is slow."""

from __future__ import annotations

import argparse

from .cli import Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_EXAMPLES = """\
examples:
  python -m {package}                         the summary of every patched distribution
  python -m {package} --why                   the same, with the reason below each change
  python -m {package} --distribution verl-npu
  python -m {package} --format json | python -m json.tool
  python -m {package} --diff > shipped.diff   what the wheels differ in from upstream
  python -m {package} --version
  python -m {package} --verify                is everything as it was built? each repair is printed
  python -m {package} --verify --ray          the same on every node of the running Ray cluster
  python -m {package} --doctor                are versions, environment and devices fit to run it?
  python -m {package} --audit                 has anything replaced patched code at run time?
  python -m {package} --audit --script train.py -- --steps 1

exit codes:
  0  printed; with --verify: intact; with --audit: everything is what its file defines
  1  nothing is installed, a named distribution is not, or a file could not be read (standard error says which);
     with --verify: not intact; with --audit: something was replaced
  2  the command line is wrong; with --verify and --audit: could not tell

environment:
  VERL_NPU_TRACEBACK=1  mark the frames of patched code in tracebacks ({package}.install_traceback() does too)

The YAML has the schema of patch_summary.yaml. The JSON is described by summary.schema.json in this package's folder.
From Python: `import {package}; {package}.text()` returns the text summary.
"""


def parse(argv: list[str], *, package: str) -> Options:
    """Parse the arguments; leaves with exit code 2 and a message when they are wrong."""
    cli = parser(package)
    options = cli.parse_args(argv, namespace=Options())
    for message in _mistakes(options):
        cli.error(message)
    if options.json:
        options.format = "json"
    return options


def _mistakes(options: Options) -> Iterator[str]:
    """Yield what does not go together."""
    others = [flag for flag, given in (("--format", options.format or options.json), ("--why", options.why)) if given]
    if others and (options.diff or options.version):
        yield f"{others[0]} says how to show the summary; {'--diff' if options.diff else '--version'} shows none"
    modes = {"--diff": options.diff, "--version": options.version, "--verify": options.verify, "--audit": options.audit}
    given = [flag for flag, on in modes.items() if on]
    if len(given) > 1:
        yield f"give {' or '.join(given)}, not both"
    if (options.verify or options.audit) and (options.why or options.format in {"text", "yaml"}):
        yield f"{'--why' if options.why else '--format'} is for the summary; {given[0]} knows --json"
    if options.ray is not None and not options.verify:
        yield "--ray goes with --verify"
    if options.doctor and options.ray is None:
        yield "run --verify and --doctor one after the other; together they go with --ray"
    if (options.stack or options.deterministic) and not options.doctor:
        yield "--stack and --deterministic go with --doctor"
    if options.arguments and not options.script:
        yield f"unrecognized arguments: {' '.join(options.arguments)}"
    if (options.import_ or options.script) and not options.audit:
        yield "--import and --script go with --audit"


def parser(package: str) -> argparse.ArgumentParser:
    """Return the parser; ``--help`` is an ordinary flag so that it is printed as safely as the rest."""
    cli = argparse.ArgumentParser(
        prog=f"python -m {package}",
        description="Show what was changed in the installed NPU wheels, against which upstream commit, and why.",
        epilog=_EXAMPLES.format(package=package),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    cli.add_argument("-h", "--help", action="store_true", help="show this help and leave")
    cli.add_argument("--format", choices=("text", "yaml", "json"), help="how to show the summary (default: text)")
    cli.add_argument("--why", action="store_true", help="add the reasons below each change (JSON always has them)")
    cli.add_argument("--diff", action="store_true", help="print the unified diff between upstream and what was shipped")
    cli.add_argument("--version", action="store_true", help="print each distribution's version, upstream and overlay")
    cli.add_argument(
        "--distribution",
        action="append",
        metavar="NAME",
        help="only this distribution, e.g. verl-npu or verl (may be given more than once)",
    )
    cli.add_argument("--json", action="store_true", help="print JSON for a machine to read")
    _add_checks(cli)
    return cli


def _add_checks(cli: argparse.ArgumentParser) -> None:
    checks = cli.add_argument_group("checks")
    checks.add_argument("--verify", action="store_true", help="compare every installed file with what was built")
    checks.add_argument(
        "--ray",
        nargs="?",
        const="auto",
        metavar="ADDRESS",
        help="with --verify: on every node of the Ray cluster there (default: the one this machine belongs to)",
    )
    checks.add_argument(
        "--timeout",
        type=seconds,
        default=Options.timeout,
        metavar="SECONDS",
        help="with --ray: how long to wait for the nodes (default: %(default)g)",
    )
    checks.add_argument(
        "--audit", action="store_true", help="import the patched modules and report what was replaced at run time"
    )
    checks.add_argument(
        "--import",
        dest="import_",
        action="append",
        metavar="MODULE",
        help="with --audit: import this instead of the modules of the summary (may be given more than once)",
    )
    checks.add_argument(
        "--script", metavar="FILE", help="with --audit: run this program first; its arguments follow --"
    )
    checks.add_argument(
        "--doctor",
        action="store_true",
        help="examine this machine: versions, environment, devices (see --doctor --help); with --ray: every node",
    )
    checks.add_argument("--stack", metavar="NAME", help="with --doctor: hold it against this stack")
    checks.add_argument(
        "--deterministic", action="store_true", help="with --doctor: also what a reproducible run needs"
    )
    checks.add_argument("arguments", nargs="*", help=argparse.SUPPRESS)


def seconds(text: str) -> float:
    """Read a patience; argparse names this function in its message."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value
