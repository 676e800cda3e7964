"""Provenance: changes → what was changed, where its bytes came from and what they lack, in words."""

from __future__ import annotations

from .plurals import plural
from .versions import local_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .changes import Changes, NotApplied


def purpose(distributions: Iterable[Changes]) -> str:
    """Return what the changes are for, in one heading for all: that of the first that names it."""
    return next(filter(None, (changes["purpose"] for changes in distributions)), "")


def made_of(changes: Changes) -> str:
    """Return `upstream` and `source` in one."""
    return f"{upstream(changes)}, {source(changes)}"


def upstream(changes: Changes) -> str:
    """Return which upstream was changed: project, version, and the commit or release it was pinned by."""
    pinned = changes["upstream"]
    release = f"{pinned['project']} {pinned['version']}"
    if not pinned["commit"]:
        return f"{release}, release archive"
    tag = f" ({pinned['tag']})" if pinned["tag"] else ""
    return f"{release} at {pinned['commit']}{tag}{doubt(changes)}"


def name(changes: Changes) -> str:
    """Return the name and the version of the patched distribution."""
    return f"{changes['distribution']['name']} {changes['distribution']['version']}"


def overlay(changes: Changes) -> str:
    """Return the overlay that was merged in, with its revision."""
    return f"overlay {changes['overlay']['name']} {revision(changes)}"


def revision(changes: Changes) -> str:
    """Return which revision of its overlay a wheel is, or after which one it was built in development."""
    number = changes["overlay"]["revision"]
    if not in_development(changes):
        return f"revision {number}"
    return f"in development after revision {number}" if number else "in development, no revision yet"


def in_development(changes: Changes) -> bool:
    """Return whether a wheel is a development build of its overlay, and no revision."""
    return "." in local_parts(changes["distribution"]["version"]).get("build", "")


def target(operation: NotApplied) -> str:
    """Return what an operation that was not applied is on: a file, or a symbol in it."""
    return ":".join(filter(None, (operation["path"], operation["symbol"])))


def doubt(changes: Changes) -> str:
    """Return what stands behind a commit that no source has confirmed; else nothing."""
    # An archive vouches for itself; that it was made from the commit is known only where they were compared.
    return "" if changes["upstream"]["compared"] else " (unconfirmed: the archive was never compared with it)"


def source(changes: Changes) -> str:
    """Return where the bytes of this build came from, and what they lack."""
    archive = changes["upstream"]["source"].get("archive")
    if not archive:
        return "from the commit"
    missing = len(changes["upstream"]["missing"])
    lacks = f", which lacks {plural(missing, 'file')} of the commit" if missing else ""
    return f"from {archive}{lacks}"
