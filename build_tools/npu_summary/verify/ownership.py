"""Ownership: a subject → what is wrong with its own metadata, and who else claims its files."""

from __future__ import annotations

from ..installed import normal_name
from .companions import twice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .distributions import Dist
    from .findings import Finding
    from .subjects import Subject

_MOVED = "~"  # what pip's name for a folder begins with that it is about to delete


def check(subject: Subject) -> Iterator[Finding]:
    """Yield every other distribution that claims files of ours, and what is wrong with our metadata."""
    for other in subject.dists:
        is_companion = other.key == normal_name(subject.place.project)
        if other.store.root == subject.store.root and other not in subject.own and not is_companion:
            yield from _claims(subject, other)
    if not subject.own:
        yield _no_metadata(subject)
    elif len(subject.own) > 1:
        yield _several_metadata(subject)
    else:
        yield from _metadata(subject, subject.own[0])


def _claims(subject: Subject, other: Dist) -> Iterator[Finding]:
    shared = sorted(other.claims(subject.roots).keys() & subject.files.keys())
    if shared and other.info.startswith(_MOVED):
        what = f"{other.info} claims {len(shared)} of our files, and no installer ends it"
        cause = "pip moves what it uninstalls to such a name, and was interrupted"
        repairs = subject.installer.remove([other.info])
        yield subject.finding("interrupted uninstall", what, cause, paths=[f"{other.info}/"], repairs=repairs)
    elif shared:
        yield subject.finding(
            "overwritten",
            f"{other.name} {other.version} claims {len(shared)} of our files; uninstalling it deletes them",
            "it ships the same package, and installers do not refuse that",
            paths=shared,
            repairs=(*subject.installer.uninstall(other.name), *subject.installer.reinstall()),
        )


def _no_metadata(subject: Subject) -> Finding:
    elsewhere = next((one.store.root for one in subject.dists if one.key == normal_name(subject.name)), "")
    why = f"; the metadata lies in {elsewhere}" if elsewhere else ", or its metadata was removed"
    what = f"no metadata of {subject.name} beside its files"
    return subject.finding("unregistered", what, f"only the folders were copied here{why}")


def _several_metadata(subject: Subject) -> Finding:
    infos = [one.info for one in subject.own]
    wrong = [info for info in infos if not info.endswith(f"-{subject.version}.dist-info")]
    return subject.finding(
        "registered twice",
        f"{subject.name} is there as {', '.join(infos)}",
        twice(subject, "an upgrade was interrupted, or one tool did not see what another had installed"),
        repairs=(*subject.installer.remove(wrong), *subject.installer.reinstall()),
    )


def _metadata(subject: Subject, own: Dist) -> Iterator[Finding]:
    """Yield what is wrong with the one metadata folder there is."""
    repairs = (*subject.freed(own), *subject.installer.reinstall())
    if own.version != subject.version:
        what = f"the metadata says {own.version}, the files are of {subject.version}"
        cause = "an upgrade was interrupted, or the files were copied from another build"
        yield subject.finding("registered as another build", what, cause, repairs=repairs)
        return
    unlisted = sorted(subject.files.keys() - own.record.keys())
    if not own.record:
        what = "RECORD is missing or empty; installers cannot remove or replace the files"
        paths = [f"{own.info}/RECORD"]
    elif unlisted:
        what, paths = f"RECORD does not list {len(unlisted)} of the files built", unlisted
    elif not own.record.keys() >= {*own.commands}:
        what, paths = "entry points that RECORD does not list", own.commands
        repairs = (*subject.installer.remove(paths), *subject.installer.reinstall())
    else:
        what, paths = "files in the metadata folder are missing or differ from RECORD", _differing(own)
    if paths:
        cause = "edited, or the installation was interrupted"
        yield subject.finding("metadata damaged", what, cause, paths=paths, repairs=repairs)


def _differing(own: Dist) -> list[str]:
    """Return the files of a metadata folder that are not those its RECORD lists."""
    return own.differing(path for path in own.record if path.startswith(f"{own.info}/"))
