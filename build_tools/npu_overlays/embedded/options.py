"""The command line: arguments in, options out. Imported only when there are arguments, since argparse is slow."""

from __future__ import annotations

import argparse

from .cli import Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_TEACHING = """\
examples:
  python -m {package}                         the summary of every patched distribution
  python -m {package} --why                   the same, with the reason below each change
  python -m {package} --distribution {distribution}
  python -m {package} --format json | python -m json.tool
  python -m {package} --diff > shipped.diff   what the wheels differ in from upstream
  python -m {package} --version
  python -m {package} --verify                is everything as it was built? each repair is printed
  python -m {package} --verify --ray          the same on every node of the running Ray cluster
  python -m {package} --audit                 has anything replaced patched code at run time?
  python -m {package} --audit --script train.py -- --steps 1
{doctor}
exit codes:
  0  printed; with --verify: intact; with --audit: everything is what its file defines;
     with --doctor: all rows are matched or compatible
  1  nothing is installed, a named distribution is not, or a file could not be read (standard error says which);
     with --verify: not intact; with --audit: something was replaced; with --doctor: something is broken
  2  the command line is wrong; with --verify, --audit and --doctor: could not tell

environment:
  {variable}=1  mark the frames of patched code in tracebacks ({package}.install_traceback() does too)

The YAML has the schema of patch_summary.yaml. The JSON is described by summary.schema.json in this package's folder.
From Python: `import {package}; {package}.text()` returns the text summary.
"""

_DOCTOR = """\
  python -m {package} --verify --ray --doctor and are the nodes fit, and alike?
  python -m {package} --doctor                are versions, environment and devices fit to run it?
  python -m {package} --doctor --stack {stack}  the same, against the pins of one stack
  python -m {package} --doctor --deterministic  and the variables of a reproducible run
  python -m {package} --doctor --data lab.json  and tables, ranges and stacks of your own
  python -m {package} --doctor --no-import --json > node.json

stacks:
  {stacks}

levels of --doctor:
  matched     as published together
  compatible  a published range allows it, or it works but is at risk
  broken      it will fail; the row says with which message, and what to do
  unknown     it could not be told
"""


def parse(argv: list[str], *, package: str) -> Options:
    """Parse the arguments; leaves with exit code 2 and a message when they are wrong."""
    cli = _parser(package)
    options = cli.parse_args(argv, namespace=Options())
    for message in _mistakes(options):
        cli.error(message)
    if options.json:
        options.format = "json"
    return options


def usage(package: str) -> str:
    """Return the help, with the names of the stacks where this wheel examines machines."""
    cli = _parser(package)
    stem = package.removesuffix("_summary")
    distribution, variable = stem.replace("_", "-"), f"{stem.upper()}_TRACEBACK"
    doctor = _doctors(package) if has_doctor() else ""
    cli.epilog = _TEACHING.format(package=package, distribution=distribution, variable=variable, doctor=doctor)
    return cli.format_help()


def has_doctor() -> bool:
    """Return whether this wheel carries the examination of the machine; an overlay has to ask for it."""
    try:
        from . import doctor  # noqa: F401, PLC0415 - only whether it is there
    except ImportError:
        return False
    return True


def _doctors(package: str) -> str:
    from .doctor.data import DataError, load  # noqa: PLC0415 - read for help only

    try:
        known = load()
        named, first = known.names(), next(stack.name for stack in known.stacks if not stack.record)
    except DataError as error:  # of a damaged installation; --verify says more
        named, first = f"not readable: {error}", "NAME"
    return _DOCTOR.format(package=package, stacks=named, stack=first)


def _mistakes(options: Options) -> Iterator[str]:
    """Yield what does not go together."""
    if options.doctor and not has_doctor():
        yield "this wheel examines no machines: its overlay does not ask for that"
    others = [flag for flag, given in (("--format", options.format or options.json), ("--why", options.why)) if given]
    if others and (options.diff or options.version):
        yield f"{others[0]} says how to show the summary; {'--diff' if options.diff else '--version'} shows none"
    if options.doctor and options.verify and options.ray is None:
        yield "run --verify and --doctor one after the other; together they go with --ray"
    modes = {"--diff": options.diff, "--version": options.version, "--verify": options.verify, "--audit": options.audit}
    modes["--doctor"] = options.doctor and not options.verify
    given = [flag for flag, on in modes.items() if on]
    if len(given) > 1:
        yield f"give {' or '.join(given)}, not both"
    if given and not (options.diff or options.version) and (options.why or options.format in {"text", "yaml"}):
        yield f"{'--why' if options.why else '--format'} is for the summary; {given[0]} knows --json"
    yield from _strays(options)
    if options.arguments and not options.script:
        yield f"unrecognized arguments: {' '.join(options.arguments)}"


def _strays(options: Options) -> Iterator[str]:
    """Yield options that go with another one that is not there."""
    if options.ray is not None and not options.verify:
        yield "--ray goes with --verify"
    if options.ray is not None and options.data:
        yield "--data is a file of this machine; it does not go with --ray"
    if (options.stack or options.deterministic or options.data or options.no_import) and not options.doctor:
        yield "--stack, --deterministic, --data and --no-import go with --doctor"
    if options.distribution is not None and options.doctor and not options.verify:
        yield "--distribution does not go with --doctor, which looks at the whole machine"
    if (options.import_ or options.script) and not options.audit:
        yield "--import and --script go with --audit"


def _parser(package: str) -> argparse.ArgumentParser:
    """Return the parser; ``--help`` is an ordinary flag so that it is printed as safely as the rest."""
    cli = argparse.ArgumentParser(
        prog=f"python -m {package}",
        description="Show what was changed in the installed patched wheels, against which upstream commit, and why;\n"
        "check the installed files and the running code.",
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
        help="only this distribution, by its own name or upstream's (may be given more than once)",
    )
    cli.add_argument("--json", action="store_true", help="print JSON for a machine to read; the checks know it too")
    _add_verify(cli.add_argument_group("the installed files"))
    _add_audit(cli.add_argument_group("the running code"))
    if has_doctor():
        _add_doctor(cli.add_argument_group("the machine"))
    cli.add_argument("arguments", nargs="*", help=argparse.SUPPRESS)
    return cli


def _add_verify(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--verify", action="store_true", help="compare every installed file with what was built")
    group.add_argument(
        "--ray",
        nargs="?",
        const="auto",
        metavar="ADDRESS",
        help="with --verify: on every node of the Ray cluster there (default: the one this machine belongs to)",
    )
    group.add_argument(
        "--timeout",
        type=seconds,
        default=Options.timeout,
        metavar="SECONDS",
        help="with --ray: how long to wait for the nodes (default: %(default)g)",
    )


def _add_audit(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--audit", action="store_true", help="import the patched modules and report what was replaced at run time"
    )
    group.add_argument(
        "--import",
        dest="import_",
        action="append",
        metavar="MODULE",
        help="with --audit: import this instead of the modules of the summary (may be given more than once)",
    )
    group.add_argument("--script", metavar="FILE", help="with --audit: run this program first; its arguments follow --")


def _add_doctor(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--doctor",
        action="store_true",
        help="examine versions, environment, devices and packages; with --verify --ray: on every node",
    )
    group.add_argument("--stack", metavar="NAME", help="with --doctor: hold it against this stack too")
    group.add_argument("--deterministic", action="store_true", help="with --doctor: also what a reproducible run needs")
    group.add_argument(
        "--data",
        action="append",
        metavar="FILE",
        help="with --doctor: more tables, ranges and stacks, as JSON (may be given more than once)",
    )
    group.add_argument(
        "--no-import",
        action="store_true",
        help="with --doctor: do not try to import torch and torch_npu (which a child process does)",
    )


def seconds(text: str) -> float:
    """Read a patience; argparse names this function in its message."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value
