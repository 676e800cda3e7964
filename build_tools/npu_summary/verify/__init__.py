"""Verify: an installation → findings, each something that is not as it was built, with its cause and its repair.

Data flows ``distributions`` and ``subjects`` (what is installed and what was built) -> ``surveys``
(what lies there) -> the checks, each a function from a subject to findings -> ``report`` (text, JSON and the exit
code). Nothing of the patched packages is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .. import installed
from . import bytecode, companions, distributions, files, leftovers, origins, platforms, records, subjects
from .findings import Finding
from .report import Verification
from .subjects import Subject
from .surveys import survey


def verify(path: Sequence[str] | None = None, *, names: Iterable[str] = ()) -> Verification:
    """Compare every patched distribution with what was built.

    Args:
        path: folders and zip files in the order of ``sys.path``; by default what this Python itself would import from.
        names: distribution or project names to restrict the check to.

    Returns:
        The findings; never raises for whatever lies on the disk.
    """
    places = installed.places(path)
    chosen, unknown = installed.select(places, names)
    found = distributions.scan(installed.own_path() if path is None else path)
    subjects_ = [subjects.load(place, found) for place in chosen]
    begun = bytecode.begin(subjects_)
    # All else is looked at before one is waited for.
    checked = [list(_check(subject, places, path)) for subject in subjects_]
    compared = map(bytecode.check, subjects_, begun())
    findings = [one for pair in zip(checked, compared, strict=True) for found in pair for one in found]
    findings += [finding for subject in subjects_ for finding in origins.shadows(subject)]
    problems = [f"{name}: no patched distribution of that name is installed" for name in unknown]
    return Verification(
        subjects=tuple(subjects_),
        findings=tuple(findings),
        problems=tuple(problems if chosen or problems else [installed.NOTHING]),
    )


def _check(subject: Subject, places: Sequence[installed.Place], path: Sequence[str] | None) -> Iterator[Finding]:
    """Yield every finding of one distribution, the likeliest root cause first."""
    yield from companions.check(subject)
    yield from records.check(subject)
    yield from companions.check_pairs(subject, places)
    yield from origins.check(subject, path)
    yield from records.check_summary(subject)
    if not subject.files:
        return  # nothing tells what was built
    seen = survey(subject)
    yield from leftovers.check(subject, seen, path)
    yield from files.check(subject, seen)
    yield from platforms.check(subject)
