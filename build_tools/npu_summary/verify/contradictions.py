"""Contradictions: a subject → what is damaged in its summary and its manifest, and where the two disagree."""

from __future__ import annotations

from ..installed import DATA
from .manifests import MANIFEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .findings import Finding
    from .subjects import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what keeps the summary or the manifest from being believed."""
    package, cause = subject.place.package, "edited, or the installation was interrupted"
    if subject.damage:
        yield subject.finding("summary damaged", f"{DATA}: {subject.damage}", cause, paths=[f"{package}/{DATA}"])
    if subject.built.damage:
        what, path = f"{MANIFEST}: {subject.built.damage}", f"{package}/{MANIFEST}"
        if len(subject.files) > 1:
            yield subject.finding("manifest damaged", what, cause, paths=[path])
        else:
            what += "; and RECORD does not list the files either, so they could not be compared"
            yield subject.finding("manifest damaged", what, cause, paths=[path], level="unknown")
    elif differing := _differing(subject):
        what = f"the manifest and the summary disagree about {len(differing)} files"
        cause = "one of the two was edited, or they come from different builds"
        yield subject.finding("manifest damaged", what, cause, paths=differing)


def shadows(subject: Subject) -> Iterator[Finding]:
    """Yield a note for each further copy of the summary package."""
    for other in subject.place.shadows:
        what = f"{other} is not used: {subject.place.folder} comes first on sys.path"
        yield subject.finding("second copy", what, paths=[other], repairs=(), level="note")


def _differing(subject: Subject) -> list[str]:
    """Return the changed files of which the manifest says something else than the summary."""
    files = subject.changes["files"] if subject.changes else ()
    return sorted(
        one["installed"] for one in files if one["installed"] and subject.files.get(one["installed"]) != one["after"]
    )
