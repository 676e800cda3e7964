"""The command: arguments → one of the reports on standard output, and an exit code."""

from __future__ import annotations

import argparse
import shlex
import sys

from npu_doctor.arguments import parse
from npu_doctor.jsonfiles import DataError
from npu_summary import stream
from npu_summary.reports import UNTOLD, Report, show

_PACKAGE = "npu_doctor"


def main(argv: list[str]) -> int:
    """Run a command.

    Args:
        argv: the arguments after the program's name; those of ``python -m verl_npu_summary --doctor …`` too.

    Returns:
        0 all is well, 1 it is not, 2 it could not be told. Wrong usage leaves with 2.
    """
    options = parse(argv)
    if options.help:
        return UNTOLD if stream.emit(options.help) else 0
    try:
        return show(_report(options), as_json=options.json, package=_PACKAGE)
    except DataError as error:
        stream.warn(f"error: {error}", package=_PACKAGE)
        return UNTOLD
    except ModuleNotFoundError as error:
        # Its only requirement, which --no-deps leaves out.
        if (error.name or "").partition(".")[0] != "packaging":
            raise
        fix = f"{shlex.quote(sys.executable)} -m pip install 'packaging>=22'"
        stream.warn(f"error: packaging, which npu-doctor requires, is not installed; {fix}", package=_PACKAGE)
        return UNTOLD


def _report(options: argparse.Namespace) -> Report:
    # Each of the three brings much that the others, and what is printed of wrong usage, do without.
    if options.command == "audit":
        from npu_doctor import audit  # noqa: PLC0415  # see above

        return audit.audit(
            imports=options.import_,
            script=options.script,
            arguments=options.arguments,
            distributions=options.distribution,
        )
    if options.command == "cluster":
        from npu_doctor import cluster  # noqa: PLC0415  # see above

        return cluster.survey(
            options.ray,
            seconds=options.timeout,
            distributions=options.distribution,
            doctor=_of_doctor(options) if options.doctor else None,
        )
    from npu_doctor.examination import diagnose  # noqa: PLC0415  # see above

    return diagnose(
        stack=options.stack, deterministic=options.deterministic, data=options.data, imports=not options.no_import
    )


def _of_doctor(options: argparse.Namespace) -> list[str]:
    """Return the options that the doctor is given on every node."""
    given = ["--stack", options.stack] if options.stack else []
    given += ["--deterministic"] if options.deterministic else []
    return given + (["--no-import"] if options.no_import else [])
