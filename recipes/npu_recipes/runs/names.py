"""Names: what somebody names → the runs of a group, the files of a run, and which run of its file is meant."""

from __future__ import annotations

import os
from glob import glob
from pathlib import Path

# What `npu-recipes run` has in a run's folder, of its first start and of those that went on.
_FIRST, _LATER = "metrics.jsonl", "metrics-*.jsonl"


def members(group: str) -> list[str]:
    """Return the names of the runs that a group is written as: one, several with commas, or patterns."""
    if is_there(group):
        return [group]
    names: list[str] = []
    for part in _apart(group):
        names += sorted(glob(_at_home(part))) or [part]  # noqa: PTH207  # of any path
    return names


def _apart(group: str) -> list[str]:
    """Return the parts between commas; one that names no file continues the name of a run, `FILE#a,b`."""
    parts: list[str] = []
    for part in filter(None, group.split(",")):
        if parts and "#" in parts[-1] and not (glob(_at_home(part)) or all(map(_names_file, part.split("+")))):  # noqa: PTH207  # of any path
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts


def parts_of(name: str) -> list[str]:
    """Return what one run logged where: of one that was resumed, in the order it was begun."""
    if not is_there(name):
        parts = name.split("+")
        return parts if all(map(_names_file, parts)) else [name]
    # A run of ours: each start has a file of its own, since verl's file logger begins its file anew.
    # A start that ended before its first step has left an empty one.
    folder = Path(_at_home(name))
    starts = [*folder.glob(_FIRST), *sorted(folder.glob(_LATER), key=lambda one: (len(one.name), one.name))]
    return [str(one) for one in starts if one.stat().st_size] or [*map(str, starts[:1])] or [name]


def place_of(name: str) -> tuple[Path, str]:
    """Return the file that a name is of, and the run of it that it names, or none."""
    path, _, run = (name, "", "") if is_there(name) else name.partition("#")
    return Path(_at_home(path)), run


def is_there(name: str) -> bool:
    """Return whether a name is that of a file or folder, which one that is empty is not."""
    try:
        return bool(name) and Path(_at_home(name)).exists()
    except OSError:  # longer than a name can be, as that of a group of many files is
        return False


def _names_file(name: str) -> bool:
    return is_there(name.partition("#")[0])


def _at_home(name: str) -> str:
    return os.path.expanduser(name)  # noqa: PTH111  # pathlib's own fails where there is no such user
