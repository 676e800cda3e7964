"""Provenance: checked changes in; what was changed, where its bytes came from and what they lack, in words, out."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .changes import Changes


def upstream(changes: Changes) -> str:
    """Return which upstream was changed: project, version, and the commit or release it was pinned by."""
    pinned = _pinned(changes)
    name = f"{pinned['project']} {pinned['version']}"
    if not pinned["commit"]:
        return f"{name}, release archive"
    tag = f" ({pinned['tag']})" if pinned.get("tag") else ""
    # An archive vouches for itself; that it was made from the commit is known only where they were compared.
    unconfirmed = "" if pinned.get("compared", True) else " (unconfirmed: the archive was never compared with it)"
    return f"{name} at {pinned['commit']}{tag}{unconfirmed}"


def made_of(changes: Changes) -> str:
    """Return `upstream` and `source` in one."""
    return f"{upstream(changes)}, {source(changes)}"


def source(changes: Changes) -> str:
    """Return where the bytes of this build came from, and what they lack."""
    pinned = _pinned(changes)
    archive = pinned.get("source", {}).get("archive")
    if not archive:
        return "from the commit"
    missing = len(pinned.get("missing", ()))
    lacks = f", which lacks {missing} file{'' if missing == 1 else 's'} of the commit" if missing else ""
    return f"from {archive}{lacks}"


def _pinned(changes: Changes) -> Mapping[str, Any]:
    """Return what is said of upstream; a damaged file may lack all but what `changes.parse` asks for."""
    return {**changes["upstream"]}
