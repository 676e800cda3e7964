"""Verify: an installation → findings, each something that is not as it was built, with its cause and its repair.

Data flows ``distributions``, ``manifests`` and ``subjects`` (what is installed and what was built) -> ``surveys``
(what lies there) -> the checks, each a function from a subject to findings -> ``report`` (text, JSON and the exit
code). Nothing of the patched packages is imported.
"""

from __future__ import annotations

from .. import installed
from . import (
    bytecode,
    companions,
    contradictions,
    distributions,
    files,
    leftovers,
    origins,
    ownership,
    pairs,
    platforms,
    subjects,
)
from .report import Verification
from .surveys import survey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .findings import Finding
    from .subjects import Subject
    from .surveys import Survey


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
    # All are begun before one is waited for.
    seen = [_look(subject) for subject in subjects_]
    checked = zip(subjects_, seen, strict=True)
    findings = [finding for subject, looked in checked for finding in _check(subject, looked, places, path)]
    findings += [finding for subject in subjects_ for finding in contradictions.shadows(subject)]
    problems = [f"{name}: no patched distribution of that name is installed" for name in unknown]
    return Verification(
        subjects=tuple(subjects_),
        findings=tuple(findings),
        problems=tuple(problems if chosen or problems else [installed.NOTHING]),
    )


def _look(subject: Subject) -> tuple[Survey, Callable[[], list[str]]] | None:
    """Return what lies there, and what gives the stale bytecode; None where nothing tells what was built."""
    if not subject.files:
        return None
    seen = survey(subject)
    return seen, bytecode.begin(subject, seen)


def _check(
    subject: Subject,
    looked: tuple[Survey, Callable[[], list[str]]] | None,
    places: Sequence[installed.Place],
    path: Sequence[str] | None,
) -> Iterator[Finding]:
    """Yield every finding of one distribution, the likeliest root cause first."""
    yield from companions.check(subject)
    yield from ownership.check(subject)
    yield from pairs.check(subject, places)
    yield from origins.check(subject, path)
    yield from contradictions.check(subject)
    if looked is None:
        return
    seen, stale = looked
    yield from leftovers.check(subject, seen)
    yield from files.check(subject, seen)
    yield from platforms.check(subject)
    yield from bytecode.check(subject, stale())
