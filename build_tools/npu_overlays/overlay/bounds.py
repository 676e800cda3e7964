"""Bounds: texts of ``since`` and ``until`` → whether their owner applies to an upstream version."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from npu_overlays.overlay.sections import letter

SINCE_UNTIL = ("since", "until")


def version_of(text: str) -> Version | None:
    """Return a text as a version; None if it is not valid."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The first upstream version that something applies to, and the first after it that it does not.

    Versions are in the order of PEP 440 and nothing else: ``until="0.6.0"`` applies to 0.6.0.dev0 and 0.6.0rc1, which
    come before 0.6.0, and not to 0.6.0 itself; ``since="0.6.0"`` is its counterpart, so that of two variants with the
    same version there is always exactly one.
    """

    since: str = ""  # the first version, or empty
    until: str = ""  # the first version it does not apply to any more, or empty

    def __bool__(self) -> bool:
        return bool(self.since or self.until)

    def __str__(self) -> str:
        return " ".join(f"{name} {value}" for name, value in (("since", self.since), ("until", self.until)) if value)

    @property
    def drop_when(self) -> str:
        """When it goes, if no condition says so."""
        return f"the pin is {self.until} or newer" if self.until else ""

    def hold(self, version: Version) -> bool:
        """Return whether it applies to an upstream version."""
        late_enough = not self.since or Version(self.since) <= version
        return late_enough and (not self.until or version < Version(self.until))

    def faults(self) -> Iterator[tuple[str, str, str]]:
        """Yield which bound is wrong, how, and what to do."""
        found = {name: version_of(value) for name, value in (("since", self.since), ("until", self.until)) if value}
        for name, version in found.items():
            if version is None:
                yield name, f"`{getattr(self, name)}` is not a version", f'write {name}="0.6.0", for example'
        since, until = found.get("since"), found.get("until")
        if since and until and since >= until:
            what = f"no version is at least {self.since} and before {self.until}"
            yield "until", what, "write the first version it no longer applies to as until"


ALWAYS = Bounds()
_HEADER = re.compile(rb"^(Since|Until):[ \t]*(.*?)[ \t\r]*$", re.IGNORECASE | re.MULTILINE)


def patch_bounds(content: bytes) -> Bounds:
    """Return the bounds in the lines above a patch's diff: ``Since: 0.6.0``, ``Until: 0.7.0``."""
    stated = _HEADER.findall(letter(content))
    return Bounds(**{name.decode().lower(): text.decode("utf-8", "replace") for name, text in stated})
