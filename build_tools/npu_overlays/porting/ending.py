"""Ending: what an overlay says on two pins → which of the old one's is not for the new version any more."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from npu_overlays.errors import listing
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import Operation
from npu_overlays.porting.rows import Said


def ended(before: Content, after: Content, version: str) -> tuple[str, ...]:
    """Return a note of what is not for the new version any more, and has nothing in its place; none where all is.

    Whoever wrote ``until`` knew of a release, and what is ported to may be a commit in which upstream is not that far.

    Args:
        before: what is done for the old pin.
        after: what is done for the new one.
        version: of upstream, there.
    """
    there = {_place(one) for one in _said(after)}
    now = Version(version)
    late = [one for one in _said(before) if one.bounds.until and not one.bounds.hold(now)]
    gone = [one for one in late if _place(one) not in there]
    if not gone:
        return ()
    named = listing([f"{_name(one)} (until {one.bounds.until})" for one in gone])
    says = listing(dict.fromkeys(one.layer for one in gone))
    return (f"not for {version} any more by what is said in {says}, and left out: {named}",)


def _said(content: Content) -> Iterator[Said]:
    yield from content.operations
    yield from content.edits
    yield from (*content.patches, *content.files)


def _place(one: Said) -> tuple[str, str]:
    return (one.path, one.symbol if isinstance(one, Operation) else "")


def _name(one: Said) -> str:
    return f"{one.path}:{one.symbol}" if isinstance(one, Operation) else one.path
