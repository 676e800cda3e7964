"""Verify: an installation → findings, each something that is not as it was built, with its cause and its repair.

Data flows ``distributions`` and ``subjects`` (what is installed and what was built) -> ``surveys`` (what lies there) ->
the checks, each a function from a subject to findings -> ``report`` (text, JSON and the exit code). Nothing of the
patched packages is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .. import installed
from . import bytecode, companions, distributions, files, leftovers, origins, records, subjects
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
        The findings; no file on the disk makes it raise.
    """
    places = installed.places(path)
    chosen, unknown = installed.select(places, names)
    found = distributions.scan(installed.own_path() if path is None else path)
    subjects_ = [subjects.load(place, found) for place in chosen]
    imports, recompiled = origins.begin(subjects_, path), bytecode.begin(subjects_)
    # All else is looked at before these are waited for.
    checked = [list(_check(subject, places, path)) for subject in subjects_]
    stale, imported = recompiled(), imports()
    findings: list[Finding] = []
    for subject, others, compiled in zip(subjects_, checked, stale, strict=True):
        findings += [*origins.check(subject, imported), *others, *bytecode.check(subject, compiled)]
    for subject in subjects_:
        findings += origins.shadows(subject)
        if path is None:
            findings += origins.workers(subject, imported)
    problems = [f"{name}: no patched distribution of that name is installed" for name in unknown]
    if not chosen and not problems:
        problems = [installed.NOTHING]
    return Verification(subjects=tuple(subjects_), findings=tuple(findings), problems=tuple(problems))


def elsewhere(names: Iterable[str] = (), *, working_dir: str = "") -> list[Finding]:
    """Return what of the patched distributions a Python started here, or a Ray worker of it, imports from elsewhere.

    Args:
        names: distribution or project names to restrict the check to.
        working_dir: of the Ray job's `runtime_env`; empty if it has none.
    """
    found = distributions.scan(installed.own_path())
    subjects_ = [subjects.load(place, found) for place in installed.select(installed.places(), names)[0]]
    imported = origins.begin(subjects_, None)()
    findings: list[Finding] = []
    for subject in subjects_:
        findings += [*origins.check(subject, imported), *origins.workers(subject, imported, working_dir)]
    return findings


def _check(subject: Subject, places: Sequence[installed.Place], path: Sequence[str] | None) -> Iterator[Finding]:
    """Yield every finding of one distribution, the likeliest root cause first."""
    yield from companions.check(subject)
    yield from records.check(subject)
    yield from companions.check_pairs(subject, places)
    yield from records.check_summary(subject)
    if not subject.files:
        return  # nothing tells what was built
    seen = survey(subject)
    yield from leftovers.check(subject, seen, path)
    yield from files.check(subject, seen)
    yield from records.check_tags(subject)
