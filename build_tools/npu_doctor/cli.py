"""The command: arguments in, one of the reports on standard output, an exit code out."""

from __future__ import annotations

import argparse

from npu_doctor import audit, cluster, diagnosis
from npu_doctor.arguments import parse
from npu_doctor.render import render
from npu_doctor.stacks import DataError
from npu_summary import stream

_PACKAGE = "npu_doctor"
_UNTOLD = 2


def main(argv: list[str]) -> int:
    """Run a command.

    Args:
        argv: the arguments after the program's name; those of ``python -m verl_npu_summary --doctor …`` too.

    Returns:
        0 all is well, 1 it is not, 2 it could not be told. Wrong usage leaves with 2.
    """
    try:
        text, code = _outcome(parse(argv))
    except DataError as error:
        stream.warn(f"error: {error}", package=_PACKAGE)
        return _UNTOLD
    if problem := stream.emit(text):
        stream.warn(f"error: {problem}", package=_PACKAGE)
        return _UNTOLD
    return code


def _outcome(options: argparse.Namespace) -> tuple[str, int]:
    if options.help:
        return options.help, 0
    if options.command == "audit":
        audited = audit.audit(
            imports=options.import_,
            script=options.script,
            arguments=options.arguments,
            distributions=options.distribution,
        )
        return (audited.to_json() if options.json else audited.to_text()), audited.exit_code
    if options.command == "cluster":
        found = cluster.survey(
            options.ray,
            seconds=options.timeout,
            distributions=options.distribution,
            doctor=_of_doctor(options) if options.doctor else None,
        )
        return (found.to_json() if options.json else found.to_text()), found.exit_code
    report = diagnosis.diagnose(
        stack=options.stack, deterministic=options.deterministic, data=options.data, imports=not options.no_import
    )
    return (report.to_json() if options.json else render(report)), report.exit_code


def _of_doctor(options: argparse.Namespace) -> list[str]:
    """Return the options that the doctor is given on every node."""
    given = ["--stack", options.stack] if options.stack else []
    given += ["--deterministic"] if options.deterministic else []
    return given + (["--no-import"] if options.no_import else [])
