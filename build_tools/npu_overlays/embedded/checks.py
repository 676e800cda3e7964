"""The checks of the command line: options in, a report on standard output and its exit code out."""

# Each check imports only what it needs.
# ruff: noqa: PLC0415

from __future__ import annotations

from . import stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .cli import Options

_UNKNOWN = 2


def run(options: Options, *, package: str) -> int:
    """Run the check that was asked for.

    Returns:
        0 all is well, 1 it is not, 2 it could not be told.
    """
    text, code = _outcome(options, package)
    if problem := stream.emit(text):
        stream.warn(f"error: {problem}", package=package)
        return _UNKNOWN
    return code


def _outcome(options: Options, package: str) -> tuple[str, int]:
    if options.audit:
        from .audit import audit

        audited = audit(options, package=package)
        return (audited.to_json() if options.json else audited.to_text()), audited.exit_code
    if options.ray is not None:
        from .cluster import survey

        cluster = survey(options, package=package)
        return (cluster.to_json() if options.json else cluster.to_text()), cluster.exit_code
    if options.doctor:
        return _diagnosis(options, package)
    from .verify import verify

    report = verify(names=options.distribution or ())
    return (report.to_json() if options.json else report.to_text()), report.exit_code


def _diagnosis(options: Options, package: str) -> tuple[str, int]:
    from .doctor import diagnose
    from .doctor.data import DataError
    from .doctor.render import render

    try:
        report = diagnose(options)
    except DataError as error:
        stream.warn(f"error: {error}", package=package)
        return "", _UNKNOWN
    return (report.to_json() if options.json else render(report)), report.exit_code
