"""Companions: a subject → what is wrong with the distribution under upstream's name, which holds none of its files."""

from __future__ import annotations

import re

from ..installed import normal_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .distributions import Dist
    from .findings import Finding
    from .subjects import Subject

# suffix of the patched one's name, revision, perhaps a label, and the source of the bytes
_LOCAL = re.compile(r"[+.](?P<suffix>[a-z][a-z0-9]*)\.\d+(?:\.[a-z][a-z0-9]*)?\.[ga][0-9a-f]{7}$")


def suffix_of(version: str) -> str:
    """Return what a version of ours says the patched distribution's name ends in; empty for a version of others."""
    found = _LOCAL.search(version)
    return found["suffix"] if found else ""


def check(subject: Subject) -> Iterator[Finding]:
    """Yield whether the companion is missing, there several times, something else, or damaged."""
    name = normal_name(subject.changes["companion"] if subject.changes else subject.place.project)
    found = [one for one in subject.dists if one.key == name]
    beside = {one.info for one in found if one.store.root == found[0].store.root}
    repairs = (*(subject.freed(found[0]) if found else ()), *subject.installer.companion(name))
    if not found:
        what = f"no {name} {subject.version} (which holds none of its files, by design) is installed"
        cause = f"installed with --no-deps, or {name} was uninstalled; packages that require {name} will not work"
        yield subject.finding("companion missing", what, cause, repairs=repairs)
    elif len(beside) > 1:
        what = f"{len(beside)} distributions are called {name}: {', '.join(sorted(beside))}"
        cause = twice(subject, "an installer was interrupted, or one did not see what the other had installed")
        removed = subject.installer.remove([one.info for one in found if one.info in beside])
        yield subject.finding("companion twice", what, cause, repairs=(*removed, *repairs))
    elif found[0].version != subject.version or found[0].editable:
        what, cause = _instead(subject, found[0])
        yield subject.finding("companion replaced", what, cause, repairs=repairs)
    elif damaged := _damaged(found[0]):
        what = f"its metadata, or what is to say that {subject.name} is not there, should it be uninstalled,"
        what += " is not what was installed"
        repairs = (*subject.installer.remove(found[0].commands), *repairs)
        yield subject.finding("companion damaged", what, "edited, or removed", paths=damaged, repairs=repairs)


def _damaged(companion: Dist) -> list[str]:
    """Return the metadata and modules of a companion that are missing, unreadable or differ from its RECORD.

    Entry points, too, whatever RECORD says: it is built without any.
    """
    listed = (path for path in companion.record if path.startswith(f"{companion.info}/") or _is_module(path))
    return list(dict.fromkeys([*companion.unusable, *companion.commands, *companion.differing(listed)]))


def _is_module(path: str) -> bool:
    return "/" not in path and path.endswith(".py")


def twice(subject: Subject, otherwise: str) -> str:
    """Return why metadata of several versions lies in one folder."""
    return "`pip install --target` leaves the metadata of what was there" if subject.installer.targeted else otherwise


def _instead(subject: Subject, other: Dist) -> tuple[str, str]:
    """Return what stands where the companion belongs, and why."""
    claimed = other.claims(subject.roots) if other.store.root == subject.store.root else {}
    ours = len(claimed.keys() & subject.files.keys())
    what = f"{other.name} {other.version} is installed instead of {other.name} {subject.version}"
    if ours:
        what += f", and claims {ours} of our files"
    if other.editable:
        return what, f"an editable install of {other.editable}"
    if suffix_of(other.version):
        return what, f"{subject.name} and its companion were upgraded one without the other"
    return what, f"upstream's own {other.name} was installed afterwards, as a dependency or by hand"
