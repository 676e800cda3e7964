"""Requirements: upstream's, as a wheel and its companion state them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from npu_overlays.contracts.metadata import UpstreamMetadata


def rewritten_requires(metadata: UpstreamMetadata, renames: Mapping[str, str], added: Iterable[str] = ()) -> list[str]:
    """Return the requirements of a patched wheel, those of its extras included.

    A requirement of an extra keeps its whole marker, so that conditions such as
    ``extra == "a" and (x or y)`` mean what upstream meant.

    Args:
        metadata: upstream's.
        renames: by upstream distribution name, the exact requirement that takes its place, ``name==version``;
            extras and markers are kept, the version is the pin's. A URL is left out.
        added: requirements of the overlay's own.
    """
    rewritten = [_rewritten(Requirement(text), renames) for text in metadata.requires]
    return [*rewritten, *(text for text in added if text not in rewritten)]


def of_extras(requires: Iterable[str]) -> list[str]:
    """Return those of normally spelled requirements whose markers ask for an extra."""
    return [text for text in requires if re.search(r"\bextra\b", _without_values(text.partition(";")[2]))]


def _without_values(marker: str) -> str:
    """Return a marker without its quoted values."""
    return re.sub(r"\"[^\"]*\"|'[^']*'", "", marker)


def _rewritten(requirement: Requirement, renames: Mapping[str, str]) -> str:
    # Indexes refuse wheels that require a URL; upstream's own releases name the project alone as well.
    requirement.url = None
    pinned = renames.get(canonicalize_name(requirement.name))
    if pinned is None:
        return str(requirement)
    target = Requirement(pinned)
    target.extras = set(requirement.extras)
    target.marker = requirement.marker
    return str(target)
