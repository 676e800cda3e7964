"""Putting: a file as it was, as a substitution makes it, and as it is now → whether upstream put the same there."""

from __future__ import annotations

from npu_overlays.merging.settings_text import ENDINGS, keyed_lines
from npu_overlays.porting.alignment import is_made

# Where a setting stands, and the lines that say it.
_Settings = dict[tuple[str, ...], tuple[str, ...]]


def is_put(path: str, before: bytes, made: bytes, now: bytes) -> bool:
    """Return whether all that a substitution puts into a file stands there now, in its place.

    Args:
        path: of the file; in YAML the place of a setting is its keys, elsewhere that of a line the lines around it.
        before: the file where the overlay was locked.
        made: what the substitution makes of it.
        now: the file as it is now.
    """
    if path.endswith(ENDINGS):
        old, new, there = map(_settings, (before, made, now))
        if changed := [place for place in {**old, **new} if old.get(place) != new.get(place)]:
            put = any(place in new for place in changed)
            return put and all(there.get(place) == new.get(place) for place in changed)
    return is_made(*(one.split(b"\n") for one in (before, made, now)))


def _settings(content: bytes) -> _Settings:
    text = content.decode(errors="replace")
    lines = text.split("\n")
    found: _Settings = {}
    for one in keyed_lines(text):
        found[one.place] = (*found.get(one.place, ()), lines[one.number].strip())
    return found
