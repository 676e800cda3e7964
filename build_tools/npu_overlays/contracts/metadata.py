"""Metadata: the facts of upstream's core metadata that a patched wheel carries over.

The facts come from upstream's own build backend, or from the release archive
it made, once, when the overlay is locked; a build needs neither again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from packaging.utils import canonicalize_name


@dataclass(frozen=True, kw_only=True)
class UpstreamMetadata:
    """What a patched wheel takes over from upstream's metadata.

    Args:
        version: upstream's version, as its backend states it.
        requires: requirements, markers of extras included, in upstream's order.
        extras: names of extras, in upstream's order.
        fields: further values for the ``[project]`` table: ``description``, ``requires-python``,
            ``license`` or ``license-expression``, ``keywords``, ``classifiers``, ``authors``, ``urls``,
            ``import-names``, ``import-namespaces``.
        scripts: console scripts, name to object reference.
        entry_points: the other entry points, by group.
        readme: repository path of the long description, or empty.
        readme_type: its content type.
    """

    version: str
    requires: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    fields: Mapping[str, Any]
    scripts: Mapping[str, str]
    readme: str = ""
    readme_type: str = ""
    entry_points: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def required_names(metadata: UpstreamMetadata) -> set[str]:
    """Return the distributions that upstream requires; a requirement begins with the name."""
    names = (re.match(r"\s*([\w.-]+)", text, re.ASCII) for text in metadata.requires)
    return {canonicalize_name(name[1]) for name in names if name}
