"""Findings: one thing that is not as it was built, with its likely cause and the commands that repair it."""

from __future__ import annotations

from ..frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    # damage: not intact; unknown: could not be told; note: worth knowing, and no reason to distrust the installation.
    Level = Literal["damage", "unknown", "note"]
    # `docs/verify.md` says what each is.
    Kind = Literal[
        "modified",
        "missing",
        "added",
        "not a file",
        "unreadable",
        "imported instead",
        "stale bytecode",
        "rejected patch",
        "incumbent import",
        "incumbent plugin",
        "startup hook",
        "overwritten",
        "interrupted uninstall",
        "companion missing",
        "companion replaced",
        "companion twice",
        "companion alone",
        "companion damaged",
        "pair missing",
        "pair of another build",
        "wrong tag",
        "another platform",
        "unregistered",
        "registered twice",
        "registered as another build",
        "metadata damaged",
        "manifest damaged",
        "summary damaged",
        "shadowed",
        "second copy",
    ]


class Repair(Frozen):
    """One command.

    Args:
        rank: order among the repairs of one report: removals, then uninstalls, companions, wheels.
        command: for a POSIX shell.
    """

    rank: int
    command: str


class Finding(Frozen):
    """One thing found; in JSON it has these fields, in this order.

    Args:
        kind: what sort of thing.
        level: whether it is damage.
        distribution: name of the patched distribution.
        what: what is found, in one line, without the paths.
        cause: the likely cause; empty where `what` says it.
        paths: files concerned, relative to the installation's root or absolute.
        repairs: commands, in the order they are to be run; empty where a person has to decide.
    """

    kind: Kind
    level: Level
    distribution: str
    what: str
    cause: str
    paths: tuple[str, ...]
    repairs: tuple[Repair, ...]
