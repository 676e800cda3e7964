"""Expiry: an overlay's content for two pins → a note on the parts whose ``until`` ends before the new version."""

from __future__ import annotations

from packaging.version import Version

from npu_overlays.authoring.port.parts import Statement
from npu_overlays.errors import listing
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import Operation


def expired(before: Content, after: Content, version: str) -> list[str]:
    """Return a note on the parts that end by their ``until`` without a replacement; none if no part does.

    The author of ``until`` thought of a release; the new pin may be a commit before the change in that release.

    Args:
        before: the content for the old pin.
        after: the content for the new one.
        version: of upstream at the new pin.
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
    return [f"not for {version} any more by `until` in {listing(layers)}, and left out: {listing(ended)}"]


def _statements(content: Content) -> list[Statement]:
    return [*content.operations, *content.edits, *content.patches, *content.files]


def _target(one: Statement) -> str:
    return f"{one.path}:{one.symbol}" if isinstance(one, Operation) else one.path
