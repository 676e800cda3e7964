"""Statements: in-toto statements beside wheels → those to put on an index, and those it must not keep."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from npu_overlays.errors import Problem, listing

STATEMENT = ".intoto.json"


def is_outdated(statement: Path, digests: Mapping[str, str]) -> bool:
    """Return whether a statement gives another digest of some file than it has now; another file gives none."""
    subjects = _subjects(statement)
    return subjects is not None and bool(_differing(subjects, digests))


def mistakes(statement: Path, digests: Mapping[str, str]) -> list[Problem]:
    """Return why a statement must not be given out beside the wheel of its name, where files have these digests."""
    subjects, wheel = _subjects(statement), wheel_of(statement).name
    if subjects is None:
        what = "is no statement in the form of in-toto that can be read"
    elif wheel not in subjects:
        what = f"names no {wheel}, which it is called after"
    elif other := _differing(subjects, digests):
        what = f"gives another digest than {listing(other)} has"
    else:
        return []
    fix = "give the one that was written with these wheels, or leave it out"
    return [Problem(where=str(statement), what=what, fix=fix)]


def wheel_of(statement: Path) -> Path:
    """Return the wheel that a statement is called after."""
    return statement.with_name(f"{statement.name.removesuffix(STATEMENT)}.whl")


def _differing(subjects: Mapping[str, str], digests: Mapping[str, str]) -> list[str]:
    return [name for name, digest in subjects.items() if digests.get(name, digest) != digest]


def _subjects(statement: Path) -> dict[str, str] | None:
    """Return the sha256 that a statement gives of files by their names; None if it is no statement."""
    try:
        return {one["name"]: one["digest"]["sha256"] for one in json.loads(statement.read_bytes())["subject"]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
