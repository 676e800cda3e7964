"""Pairing: an overlay in, the patched distributions it belongs together with out."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

from npu_overlays.lock.lockfile import load_lock
from npu_overlays.lock.metadata import UpstreamMetadata
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stacks import load_stacks
from npu_overlays.source import origins


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A patched distribution that another one is made for.

    Installers compare public versions, which an upstream of that version satisfies whatever it was built from;
    that overlay and revision are the right ones is for ``--verify`` to see.

    Args:
        project: upstream's name.
        distribution: the patched one's.
        version: its public version.
        overlay: name of its overlay.
        revision: of that overlay.
        builds: the full versions it can have, by what its bytes came from; the commit's first.
    """

    project: str
    distribution: str
    version: str
    overlay: str
    revision: int
    builds: tuple[str, ...]

    @property
    def requirement(self) -> str:
        """The requirement on it: any build of that version, from the commit or from a release archive."""
        return f"{self.distribution}=={self.version}"


def pairs(overlay: Overlay) -> tuple[Pair, ...]:
    """Return what each overlay this one is paired with gives, of those whose upstream this one's requires."""
    wanted = _upstream_requirements(load_lock(overlay).metadata)
    partners = load_stacks(overlay.root).partners(overlay)
    return tuple(
        Pair(
            project=partner.pin.project,
            distribution=partner.distribution,
            version=Version(load_lock(partner).metadata.version).public,
            overlay=partner.name,
            revision=partner.revision,
            builds=_builds(partner),
        )
        for partner in partners
        if partner.pin.project in wanted
    )


def _builds(overlay: Overlay) -> tuple[str, ...]:
    """Return the versions of an overlay's wheels: of the one from the commit, and of one from each archive."""
    upstream = load_lock(overlay).metadata.version
    return tuple(overlay.version(upstream, origin) for origin in origins(overlay.pin))


def _upstream_requirements(metadata: UpstreamMetadata) -> set[str]:
    from packaging.requirements import Requirement  # noqa: PLC0415  # keeps `list` and `show` quick
    from packaging.utils import canonicalize_name  # noqa: PLC0415

    return {canonicalize_name(Requirement(text).name) for text in metadata.requires}
