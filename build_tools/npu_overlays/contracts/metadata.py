"""Metadata: the facts of upstream's core metadata that a patched wheel takes over.

Locking reads them once, from upstream's own build backend or from a release archive; a build needs neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from packaging.utils import canonicalize_name


@dataclass(frozen=True, kw_only=True)
class UpstreamMetadata:
    """What a patched wheel takes over from upstream's metadata."""

    version: str  # as upstream's backend states it
    requires: tuple[str, ...] = ()  # markers of extras included, in upstream's order
    extras: tuple[str, ...] = ()  # their names, in upstream's order
    # Further values for the ``[project]`` table: ``description``, ``requires-python``, ``license`` or
    # ``license-expression``, ``keywords``, ``classifiers``, ``authors``, ``urls``, ``import-names``,
    # ``import-namespaces``.
    fields: Mapping[str, Any]
    scripts: Mapping[str, str]  # console scripts, name to object reference
    readme: str = ""  # repository path of the long description, or empty
    readme_type: str = ""  # its content type
    entry_points: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # the other ones, by group


def required_names(metadata: UpstreamMetadata) -> set[str]:
    """Return the names of the distributions that upstream requires."""
    found: set[str] = set()
    for text in metadata.requires:
        if name := re.match(r"\s*([\w.-]+)", text, re.ASCII):
            found.add(canonicalize_name(name[1]))
    return found
