"""Pairs: upstream's requirements and the overlays of a stack → the patched distributions that belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from packaging.version import Version

from npu_overlays.contracts.metadata import UpstreamMetadata, required_names
from npu_overlays.overlay.project import Overlay
from npu_overlays.sources.acquisition import sources_of


@dataclass(frozen=True, kw_only=True)
class PairedDistribution:
    """A patched distribution that another one is built for.

    Installers compare public versions, which any build of that upstream version satisfies; ``--verify`` checks the
    overlay and revision.
    """

    project: str  # upstream's name
    distribution: str  # the patched one's
    version: str  # its public version
    overlay: str  # name of its overlay
    revision: int  # of that overlay
    # the full versions that revision can have, by what its bytes came from; the commit's first. None where no
    # revision was given out.
    builds: tuple[str, ...]

    @property
    def requirement(self) -> str:
        """The requirement on it: any build of that version, from a commit or a release archive."""
        return f"{self.distribution}=={self.version}"


def pairs(
    metadata: UpstreamMetadata, partners: Iterable[Overlay], metadata_of: Callable[[Overlay], UpstreamMetadata]
) -> tuple[PairedDistribution, ...]:
    """Return the distributions of those partners whose upstream this overlay's upstream requires.

    Args:
        metadata: of the overlay's upstream.
        partners: the overlays a stack pairs it with.
        metadata_of: returns a partner's; may raise `ConfigError`.
    """
    wanted = required_names(metadata)
    needed = [partner for partner in partners if partner.pin.project in wanted]
    return tuple(_pair(partner, metadata_of(partner).version) for partner in needed)


def _pair(partner: Overlay, upstream: str) -> PairedDistribution:
    sources = sources_of(partner.pin) if partner.revision else ()
    return PairedDistribution(
        project=partner.pin.project,
        distribution=partner.distribution,
        version=Version(upstream).public,
        overlay=partner.name,
        revision=partner.revision,
        # Of the wheel from the commit, and of one from each archive.
        builds=tuple(partner.version(upstream, source, str(partner.revision)) for source in sources),
    )
