"""Versions: the version of a wheel of ours → the parts of its local version."""

from __future__ import annotations

import re

# A revision is its number. A development build after it adds when its files last changed, in UTC down to the
# millisecond, and a digest of what it follows from.
BUILD = r"\d+(?:\.\d{17}\.dev[0-9a-f]{7})?"
# The suffix of the patched distribution's name, the build, perhaps a label, and the source of the bytes.
_LOCAL = re.compile(
    rf"[+.](?P<suffix>[a-z][a-z0-9]*)\.(?P<build>{BUILD})(?:\.(?P<label>[a-z][a-z0-9]*))?\.(?P<bytes>[ga][0-9a-f]{{7}})$"
)


def local_parts(version: str) -> dict[str, str]:
    """Return ``suffix``, ``build``, ``label`` and ``bytes`` of a version of ours; nothing for a version of others."""
    found = _LOCAL.search(version)
    return {name: text or "" for name, text in found.groupdict().items()} if found else {}
