"""Expiry: what an overlay states on two pins → a note of what its bounds end before the new version of upstream."""

from __future__ import annotations

from packaging.version import Version

from npu_overlays.authoring.port.parts import Statement
from npu_overlays.errors import listing
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import Operation


def expired(before: Content, after: Content, version: str) -> list[str]:
    """Return a note of what ended by its ``until`` and has nothing in its place; none if all goes on.

    The author of ``until`` thought of a release; what is ported to may be a commit before the change in that release.

    Args:
        before: the content for the old pin.
        after: the content for the new one.
        version: of upstream, there.
    """
    there = frozenset(map(_target, _statements(after)))
    ended: list[str] = []
    layers: dict[str, None] = {}
    for one in _statements(before):
        has_ended = one.bounds.until and not one.bounds.hold(Version(version))
        if has_ended and _target(one) not in there:
            ended.append(f"{_target(one)} (until {one.bounds.until})")
            layers[one.layer] = None
    if not ended:
        return []
    return [f"not for {version} any more by what is said in {listing(layers)}, and left out: {listing(ended)}"]


def _statements(content: Content) -> list[Statement]:
    return [*content.operations, *content.edits, *content.patches, *content.files]


def _target(one: Statement) -> str:
    return f"{one.path}:{one.symbol}" if isinstance(one, Operation) else one.path
