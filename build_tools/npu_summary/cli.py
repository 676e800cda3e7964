"""Cli: arguments → one of the renderings on standard output, problems on standard error, an exit code."""

from __future__ import annotations

from . import arguments, installed, provenance, stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .arguments import Options
    from .changes import Changes
    from .installed import Place

# The options by which users reach npu-doctor from here.
DOCTORS = ("--doctor", "--audit", "--ray")


def main(argv: list[str], *, package: str) -> int:
    """Run the command.

    Args:
        argv: the arguments after the program's name.
        package: the name this package was run by, for messages.

    Returns:
        The exit code: 0 printed, 1 something is not installed or not readable, and what the checks say.
        Wrong usage leaves with 2.
    """
    if _is_for_doctor(argv):
        return _hand_over(argv, package)
    options = arguments.parse(argv, package=package)
    if options.help:
        return _report(stream.emit(arguments.usage(package)), package)
    if options.verify:
        return _verify(options, package)
    chosen, unknown = installed.select(places := installed.places(), options.distribution or ())
    problems = [_no_such(name, places) for name in unknown]
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


def _is_for_doctor(argv: list[str]) -> bool:
    """Return whether another distribution, npu-doctor, does what is asked for; what follows ``--`` is a program's."""
    own = argv[: argv.index("--")] if "--" in argv else argv
    return any(one.partition("=")[0] in DOCTORS for one in own)


def _hand_over(argv: list[str], package: str) -> int:
    """Return the exit code of npu-doctor; 2 where it is not installed.

    What it examines machines and running processes for changes faster than a patched wheel may.
    """
    import importlib
    import shlex
    import sys

    from .reports import UNTOLD

    if not arguments.has_doctor():
        pip = f"{shlex.quote(sys.executable or 'python')} -m pip install npu-doctor"
        how = f"to install it: {pip} (--find-links FOLDER where it lies beside our wheels)"
        stream.warn(f"error: this needs npu-doctor, which is not installed; {how}", package=package)
        return UNTOLD
    code: int = importlib.import_module("npu_doctor.cli").main(argv)
    return code


def _verify(options: Options, package: str) -> int:
    from .reports import show
    from .verify import verify

    return show(verify(names=options.distribution or ()), as_json=options.format == "json", package=package)


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
        return "".join(map(_version, changes))
    if options.format == "json":
        from . import jsontext

        return jsontext.render(changes)
    if options.format == "yaml":
        from . import yaml

        return yaml.render(changes, why=options.why)
    from . import layout

    return layout.render(changes, why=options.why)


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

    loaded = [(place, *installed.load([place])) for place in places]
    symbols = Symbols((place, changes) for place, found, _ in loaded for changes in found)
    problems = [problem for _, _, found in loaded for problem in found]
    lines: list[str] = []
    try:
        with lines_of(name) as log:
            lines += explain(log, symbols.mark)
    except OSError as error:
        return "", [*problems, f"{name}: {installed.reason(error)}"]
    if not lines:
        problems.append(f"{name}: holds no traceback")
    return "".join(f"{line}\n" for line in lines), problems


def _version(changes: Changes) -> str:
    return f"{provenance.name(changes)} ({provenance.made_of(changes)}, {provenance.overlay(changes)})\n"


def _no_such(name: str, places: list[Place]) -> str:
    others = ", ".join(place.distribution for place in places) or "none"
    return f"{name}: no patched distribution of that name is installed (installed: {others})"


def _report(problems: str, package: str) -> int:
    for problem in problems.splitlines():
        stream.warn(f"error: {problem}", package=package)
    return 1 if problems else 0
