"""The command line: arguments in, options out. Imported only when there are arguments, since argparse is slow."""

from __future__ import annotations

import argparse

from .cli import Options

_EXAMPLES = """\
examples:
  python -m {package}                         the summary of every patched distribution
  python -m {package} --why                   the same, with the reason below each change
  python -m {package} --distribution verl-npu
  python -m {package} --format json | python -m json.tool
  python -m {package} --diff > shipped.diff   what the wheels differ in from upstream
  python -m {package} --version

exit codes:
  0  printed
  1  nothing is installed, a named distribution is not, or a file could not be read (standard error says which)
  2  the command line is wrong

The YAML has the schema of patch_summary.yaml. The JSON is described by summary.schema.json in this package's folder.
From Python: `import {package}; {package}.text()` returns the text summary.
"""


def parse(argv: list[str], *, package: str) -> Options:
    """Parse the arguments; leaves with exit code 2 and a message when they are wrong."""
    cli = parser(package)
    options = cli.parse_args(argv, namespace=Options())
    others = [flag for flag, given in (("--format", options.format), ("--why", options.why)) if given]
    if others and (options.diff or options.version):
        cli.error(f"{others[0]} says how to show the summary; {'--diff' if options.diff else '--version'} shows none")
    if options.diff and options.version:
        cli.error("give --diff or --version, not both")
    return options


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
    return cli
