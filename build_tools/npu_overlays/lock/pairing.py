"""Pairing: an overlay in, the exact requirements on the patched distributions it belongs together with out."""

from __future__ import annotations

from npu_overlays.lock.lockfile import load_lock
from npu_overlays.lock.metadata import UpstreamMetadata
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stacks import load_stacks


def partner_requirements(overlay: Overlay) -> dict[str, str]:
    """Return, by upstream name, the exact requirement on each overlay this one is paired with."""
    partners = load_stacks(overlay.root).partners(overlay)
    return {
        partner.pin.project: f"{partner.distribution}=={partner.version(load_lock(partner).metadata.version)}"
        for partner in partners
        if partner.pin.project in _upstream_requirements(load_lock(overlay).metadata)
    }


def _upstream_requirements(metadata: UpstreamMetadata) -> set[str]:
    from packaging.requirements import Requirement  # noqa: PLC0415  # keeps `list` and `show` quick
    from packaging.utils import canonicalize_name  # noqa: PLC0415

    return {canonicalize_name(Requirement(text).name) for text in metadata.requires}
