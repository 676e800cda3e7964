"""Findings: one thing that is not as it was built, with its likely cause and the commands that repair it."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    # damage: not intact; unknown: could not be told; note: worth knowing, and no reason to distrust the installation.
    Level = Literal["damage", "unknown", "note"]

KINDS = {
    "modified": "a file differs from the one built",
    "missing": "a file that was built is not there",
    "added": "a file in a patched package that was not built",
    "not a file": "a folder, a pipe or a dangling link where a file was built",
    "unreadable": "a file that could not be read, so nothing can be said of it",
    "imported instead": "an added file that Python prefers to the one built",
    "stale bytecode": "compiled code that Python uses although it is not the source's",
    "rejected patch": "what `patch` leaves where it failed or was not sure",
    "incumbent import": "a line that starts the verl_npu plugin, which patches at run time",
    "incumbent plugin": "the verl_npu plugin itself",
    "startup hook": "a .pth file that runs code naming a patched package in every Python process",
    "overwritten": "another distribution has installed the same files",
    "companion missing": "the empty distribution under upstream's name is not there",
    "companion replaced": "upstream's own distribution, or another build, stands where the companion belongs",
    "companion twice": "several distributions under upstream's name",
    "companion alone": "an empty distribution whose patched one is not there",
    "pair missing": "the patched distribution this one was built for is not there",
    "pair of another build": "the patched distribution this one was built for has another version",
    "wrong tag": "compiled files in a distribution that says it is for any platform",
    "another platform": "compiled files that this Python cannot import",
    "unregistered": "no metadata beside the files, so installers do not know them",
    "registered twice": "several versions in one folder",
    "registered as another build": "metadata and files are of different versions",
    "metadata damaged": "RECORD or a file it lists in the metadata folder is missing or differs",
    "manifest damaged": "the list of what was built is missing, unreadable or contradicts the summary",
    "summary damaged": "changes.json is missing or unreadable",
    "shadowed": "Python imports the package from elsewhere",
    "second copy": "another copy of the summary further down the path, which is not used",
}


@dataclass(frozen=True, kw_only=True)
class Repair:
    """One command.

    Args:
        rank: order among the repairs of one report: removals, then uninstalls, companions, wheels.
        command: for a POSIX shell.
    """

    rank: int
    command: str


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing found.

    Args:
        kind: a key of `KINDS`.
        distribution: name of the patched distribution.
        what: what is found, in one line, without the paths.
        cause: the likely cause; empty where `what` says it.
        repairs: commands, in the order they are to be run; empty where a person has to decide.
        paths: files concerned, relative to the installation's root or absolute.
        level: whether it is damage.
    """

    kind: str
    distribution: str
    what: str
    cause: str = ""
    repairs: tuple[Repair, ...] = ()
    paths: tuple[str, ...] = ()
    level: Level = "damage"
