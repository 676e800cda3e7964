"""Arguments: a command line → options. What parses one is imported only where there is one, since that is slow."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator, Sequence

_TEACHING = """\
examples:
  python -m {package}                         the summary of every patched distribution
  python -m {package} --why                   the same, with the reason below each change
  python -m {package} --distribution {distribution}
  python -m {package} --format json | python -m json.tool
  python -m {package} --diff > shipped.diff   what the wheels differ in from upstream
  python -m {package} --html page.html        all of it as one page for a browser
  python -m {package} --version
  python -m {package} --verify                is everything as it was built? each repair is printed
  python -m {package} --explain train.log     the tracebacks of a log: which frames are changed code, and why
{doctor}
exit codes:
  0  printed; with --verify: intact
  1  nothing is installed, a named distribution is not, or a file could not be read (standard error says which);
     with --verify: not intact
  2  the command line is wrong; with --verify: could not tell

The YAML has the schema of patch_summary.yaml. Its JSON names the version of a schema of its own.
From Python: `import {package}; {package}.text()` returns the text summary.
"""

_DOCTOR = """
what npu-doctor does, {found}:
  python -m {package} --verify --ray          --verify on every node of the running Ray cluster
  python -m {package} --audit                 has anything replaced patched code at run time?
  python -m {package} --doctor                are versions, environment and devices fit to run it?
  python -m {package} --doctor --help         its options; likewise for the others
"""


class Options:
    """What to show; the defaults are those of a run without arguments."""

    help: bool = False
    format: str | None = None
    why: bool = False
    diff: bool = False
    html: str | None = None
    version: bool = False
    distribution: Sequence[str] | None = None
    json: bool = False
    verify: bool = False
    explain: str | None = None


def parse(argv: list[str], *, package: str) -> Options:
    """Parse the arguments; leaves with exit code 2 and a message when they are wrong."""
    if not argv:
        return Options()
    cli = _parser(package)
    options = cli.parse_args(argv, namespace=Options())
    for message in _mistakes(options):
        cli.error(message)
    if options.json:
        options.format = "json"
    return options


def usage(package: str) -> str:
    """Return the help."""
    cli = _parser(package)
    distribution = package.removesuffix("_summary").replace("_", "-")
    cli.epilog = _TEACHING.format(package=package, distribution=distribution, doctor=_doctor(package))
    return cli.format_help()


def has_doctor() -> bool:
    """Return whether npu-doctor can be found."""
    import importlib.util

    return importlib.util.find_spec("npu_doctor") is not None


def _doctor(package: str) -> str:
    """Return what is said of npu-doctor: nothing where it is absent and nothing here is made for NPUs."""
    from . import changes, installed

    there = has_doctor()
    found, _ = installed.load(installed.places())
    if not there and not any(one["purpose"] == changes.NPU for one in found):
        return ""
    return _DOCTOR.format(package=package, found=f"which is {'' if there else 'not '}installed")


def _mistakes(options: Options) -> Iterator[str]:
    """Yield what does not go together."""
    others = _given({"--format": options.format or options.json, "--why": options.why})
    shown = _given(
        {
            "--diff": options.diff,
            "--html": options.html is not None,
            "--version": options.version,
            "--explain": options.explain is not None,
        }
    )
    if others and shown:
        yield f"{others[0]} says how to show the summary; {shown[0]} shows none"
    given = [*shown, *_given({"--verify": options.verify})]
    if len(given) > 1:
        yield f"give one of {', '.join(given)}: each prints something else"
    if options.verify and (options.why or options.format in ("text", "yaml")):
        yield f"{'--why' if options.why else '--format'} is for the summary; --verify knows --json"


def _given(flags: dict[str, object]) -> list[str]:
    return [flag for flag, value in flags.items() if value]


def _parser(package: str) -> ArgumentParser:
    """Return the parser; ``--help`` is an ordinary flag so that it is printed as safely as the rest."""
    import argparse

    cli = argparse.ArgumentParser(
        prog=f"python -m {package}",
        description="Show what was changed in the installed patched wheels, against which upstream commit, and why;\n"
        "check the installed files.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    cli.add_argument("-h", "--help", action="store_true", help="show this help and leave")
    cli.add_argument("--format", choices=("text", "yaml", "json"), help="how to show the summary (default: text)")
    cli.add_argument("--why", action="store_true", help="add the reasons below each change (JSON always has them)")
    cli.add_argument("--diff", action="store_true", help="print the unified diff between upstream and what was shipped")
    cli.add_argument("--html", metavar="FILE", help="write reasons and diffs as one page that needs nothing else")
    cli.add_argument("--version", action="store_true", help="print each distribution's version, upstream and overlay")
    cli.add_argument(
        "--distribution",
        action="append",
        metavar="NAME",
        help="only this distribution, by its own name or upstream's (may be given more than once)",
    )
    cli.add_argument("--json", action="store_true", help="print JSON for a machine to read; --verify knows it too")
    cli.add_argument("--verify", action="store_true", help="compare every installed file with what was built")
    cli.add_argument(
        "--explain",
        metavar="FILE",
        help="show the tracebacks of a log (- for standard input), frames of changed code marked with the reasons",
    )
    return cli
