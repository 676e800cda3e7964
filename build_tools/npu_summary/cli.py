"""Cli: arguments → one of the renderings on standard output, problems on standard error, an exit code."""

from __future__ import annotations

from . import installed, provenance, stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator, Sequence

    from .changes import Changes
    from .installed import Place

# The options by which users reach npu-doctor from here.
DOCTORS = ("--doctor", "--audit", "--ray")
_EXAMPLES = """\
examples:
  python -m {package}                       the summary of every patched distribution
  python -m {package} --why                 the same, with the reason below each change
  python -m {package} --all                 the same, with every import
  python -m {package} --distribution {distribution}
  python -m {package} --format json | python -m json.tool
  python -m {package} --diff > all.diff     the difference between upstream and the wheels
  python -m {package} --html page.html      everything on one page for a browser
  python -m {package} --version
  python -m {package} --verify              is everything as built? prints each repair
  python -m {package} --explain train.log   mark changed code in a log's tracebacks
{doctor}
exit codes:
  0  printed; with --verify: intact
  1  no patched wheel is installed, the named one is not, or a file cannot be read;
     with --verify: not intact
  2  the command line is wrong; with --verify: no verdict

The YAML has the schema of patch_summary.yaml, the JSON a schema of its own.
From Python: `import {package}; {package}.text()` returns the text summary.
"""
_DOCTOR = """
with npu-doctor, which is {state}:
  python -m {package} --verify --ray        --verify on every node of the running Ray cluster
  python -m {package} --audit               has anything replaced patched code at run time?
  python -m {package} --doctor              do versions and devices fit?
  python -m {package} --doctor --help       its options; --audit and --ray have help, too
"""


class Options:
    """What to show; the defaults are those of a run without arguments."""

    help: bool = False
    format: str | None = None
    why: bool = False
    all: bool = False
    diff: bool = False
    html: str | None = None
    version: bool = False
    distribution: Sequence[str] | None = None
    json: bool = False
    verify: bool = False
    explain: str | None = None


def main(argv: list[str], *, package: str) -> int:
    """Run the command.

    Args:
        argv: the arguments after the program's name.
        package: the name this package was run by, for messages.

    Returns:
        The exit code: 0 printed, 1 something is not installed or not readable, or that of a check. Wrong usage leaves
        with 2.
    """
    own = argv[: argv.index("--")] if "--" in argv else argv  # what follows is for a program
    if any(one.partition("=")[0] in DOCTORS for one in own):
        return _hand_over(argv, package)
    options = parse(argv, package=package)
    if options.help:
        return _report(stream.emit(usage(package)), package)
    if options.verify:
        from .reports import show
        from .verify import verify

        return show(verify(names=options.distribution or ()), as_json=options.format == "json", package=package)
    chosen, unknown = installed.select(places := installed.places(), options.distribution or ())
    others = ", ".join(place.distribution for place in places) or "none"
    problems = []
    for name in unknown:
        problems.append(f"{name}: no patched distribution of that name is installed (installed: {others})")
    for place in chosen:
        for other in place.shadows:
            stream.warn(f"note: {other} is not used: {place.folder} comes first on sys.path", package=package)
    if not chosen and not problems:
        problems = [installed.NOTHING]
    if options.html is not None:
        from .page import write

        return _report("\n".join(problems or write(chosen, options.html)), package)
    content, unread = _content(chosen, options)
    unwritten = stream.emit(content) if content else ""
    return _report("\n".join(filter(None, [*problems, *unread, unwritten])), package)


def _hand_over(argv: list[str], package: str) -> int:
    """Return the exit code of npu-doctor; 2 where it is not installed.

    What it examines machines and running processes for changes faster than a patched wheel may.
    """
    import importlib
    import shlex
    import sys

    from .reports import UNTOLD

    if not _has_doctor():
        pip = f"{shlex.quote(sys.executable or 'python')} -m pip install npu-doctor"
        how = f"to install it: {pip} (--find-links FOLDER where it lies beside our wheels)"
        stream.warn(f"error: this needs npu-doctor, which is not installed; {how}", package=package)
        return UNTOLD
    code: int = importlib.import_module("npu_doctor.cli").main(argv)
    return code


def _has_doctor() -> bool:
    import importlib.util

    return importlib.util.find_spec("npu_doctor") is not None


def _content(places: list[Place], options: Options) -> tuple[str | bytes, list[str]]:
    """Return what to print, and a message for each file that could not be read."""
    if options.diff:
        return _diffs(places)
    if options.explain is not None:
        return _tracebacks(places, options.explain)
    changes, problems = installed.load(places)
    return _render(changes, options) if changes else "", problems


def _render(changes: list[Changes], options: Options) -> str:
    if options.version:
        lines = []
        for one in changes:
            lines.append(f"{provenance.name(one)} ({provenance.made_of(one)}, {provenance.overlay(one)})\n")
        return "".join(lines)
    if options.format == "json":
        from . import jsontext

        return jsontext.render(changes)
    if options.format == "yaml":
        from . import yaml

        return yaml.render(changes, why=options.why)
    from . import layout

    return layout.render(changes, why=options.why, every=options.all)


def _diffs(places: list[Place]) -> tuple[bytes, list[str]]:
    """Return the shipped diffs one after the other, byte for byte, so that they can be applied."""
    diffs, problems = [], []
    for place in places:
        try:
            diffs.append(place.read(installed.DIFF))
        except OSError as error:
            problems.append(installed.problem(place, installed.DIFF, error))
    return b"".join(diffs), problems


def _tracebacks(places: list[Place], name: str) -> tuple[str, list[str]]:
    """Return the tracebacks of a log with their marks; ``-`` is standard input."""
    from .explain import Symbols, explain, lines_of

    found, problems = [], []
    for place in places:
        changes, unread = installed.load([place])
        found += [(place, one) for one in changes]
        problems += unread
    lines: list[str] = []
    try:
        with lines_of(name) as log:
            lines += explain(log, Symbols(found).mark)
    except OSError as error:
        return "", [*problems, f"{name}: {installed.reason(error)}"]
    if not lines:
        problems.append(f"{name}: holds no traceback")
    return "".join(f"{line}\n" for line in lines), problems


def _report(problems: str, package: str) -> int:
    for problem in problems.splitlines():
        stream.warn(f"error: {problem}", package=package)
    return 1 if problems else 0


def parse(argv: list[str], *, package: str) -> Options:
    """Parse the arguments; leaves with exit code 2 and a message when they are wrong."""
    if not argv:
        return Options()
    parser = _parser(package)
    options = parser.parse_args(argv, namespace=Options())
    for message in _mistakes(options):
        parser.error(message)
    if options.json:
        options.format = "json"
    return options


def _mistakes(options: Options) -> Iterator[str]:
    """Yield what does not go together."""

    def given(**flags: object) -> list[str]:
        return [f"--{name}" for name, value in flags.items() if value]

    others = given(format=options.format or options.json, why=options.why, all=options.all)
    html, explain = options.html is not None, options.explain is not None
    shown = given(diff=options.diff, html=html, version=options.version, explain=explain)
    if others and shown:
        yield f"{others[0]} says how to show the summary; {shown[0]} shows none"
    exclusive = [*shown, *given(verify=options.verify)]
    if len(exclusive) > 1:
        yield f"give one of {', '.join(exclusive)}: each prints something else"
    of_summary = given(why=options.why, all=options.all, format=options.format in ("text", "yaml"))
    if options.verify and of_summary:
        yield f"{of_summary[0]} is for the summary; --verify knows --json"
    if options.all and (options.json or options.format in ("yaml", "json")):
        yield "--all is for the text; YAML and JSON always list everything"


def usage(package: str) -> str:
    """Return the help, which names npu-doctor where it is installed, and where a wheel is made for NPUs."""
    from . import changes

    parser = _parser(package)
    has_doctor, doctor = _has_doctor(), ""
    if has_doctor or any(one["purpose"] == changes.NPU for one in installed.load(installed.places())[0]):
        doctor = _DOCTOR.format(package=package, state="installed" if has_doctor else "not installed")
    distribution = package.removesuffix("_summary").replace("_", "-")
    parser.epilog = _EXAMPLES.format(package=package, distribution=distribution, doctor=doctor)
    return parser.format_help()


def _parser(package: str) -> ArgumentParser:
    """Return the parser; ``--help`` is an ordinary flag so that it is printed as safely as the rest."""
    import argparse

    from .suggestions import SuggestingParser

    parser = SuggestingParser(
        prog=f"python -m {package}",
        description="List what the installed patched wheels change, compared with which upstream commit, and why.\n"
        "Check the installed files.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    add = parser.add_argument
    add("-h", "--help", action="store_true", help="show this help and exit")
    add("--format", choices=("text", "yaml", "json"), help="how to show the summary (default: text)")
    add("--why", action="store_true", help="add the reason below each change (JSON always has it)")
    every = "list every import and every definition of one form, instead of counting these"
    add("--all", action="store_true", help=every)
    add("--diff", action="store_true", help="print the unified diff between upstream and the wheels")
    add("--html", metavar="FILE", help="write reasons and diffs as one page that loads nothing")
    add("--version", action="store_true", help="print each distribution's version, upstream and overlay")
    only = "only this distribution, by its own name or upstream's (may be given more than once)"
    add("--distribution", action="append", metavar="NAME", help=only)
    add("--json", action="store_true", help="print JSON for a machine to read; also with --verify")
    add("--verify", action="store_true", help="compare every installed file with the build")
    marked = "print the tracebacks of a log (- for standard input) and mark frames of changed code with the reason"
    add("--explain", metavar="FILE", help=marked)
    return parser
