"""Standing: a file of an index, and what its page says of it → whether the two still fit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from npu_overlays.errors import Problem, listing
from npu_overlays.index.distributions import digest
from npu_overlays.index.pages import Link

METADATA = ".metadata"
STATEMENT = ".intoto.json"


def has_metadata(listed: Link, place: Path) -> bool:
    """Return whether the metadata of a wheel lie beside it as its page says: installers trust that unseen."""
    said, beside = listed.core_metadata, place.with_name(place.name + METADATA)
    if not place.name.endswith(".whl"):
        return True
    return isinstance(said, Mapping) and beside.is_file() and digest(beside) == said.get("sha256")


def is_given_out(file: Path, listed: Link | None, place: Path) -> bool:
    """Return whether a file has the bytes that were given out under its name, if any were, as far as can be known.

    Args:
        file: what is to be given out.
        listed: what its page says of that name.
        place: where that lies, if it does.
    """
    said = _comparable(listed.hashes) if listed else {}
    if place.is_file() and "sha256" not in said and (listed is None or listed.beside):
        said = {"sha256": digest(place)}
    if not said:
        return listed is None
    return all(digest(file, algorithm) == value for algorithm, value in said.items())


def _comparable(hashes: Mapping[str, str]) -> dict[str, str]:
    """Return those digests of a file that can be held against another, by algorithm."""
    names = hashlib.algorithms_guaranteed & hashes.keys()
    lengths = {name: hashlib.new(name, usedforsecurity=False).digest_size for name in names}
    return {name: hashes[name].lower() for name, length in lengths.items() if length}


def is_outdated(statement: Path, digests: Mapping[str, str]) -> bool:
    """Return whether a statement gives another digest of some file than it has now; what is no statement gives none.

    Args:
        statement: in the form of in-toto.
        digests: the sha256 of files, by their names.
    """
    named = _named(statement)
    return named is not None and any(digests.get(name, digest) != digest for name, digest in named.items())


def untruths(statement: Path, digests: Mapping[str, str]) -> list[Problem]:
    """Return what keeps a statement from being given out beside the wheel that it is called after.

    Args:
        statement: what lies under the name of one.
        digests: the sha256 of files that the index is to have, by their names.
    """
    named, wheel = _named(statement), f"{statement.name.removesuffix(STATEMENT)}.whl"
    if named is None:
        what = "is no statement in the form of in-toto that can be read"
    elif wheel not in named:
        what = f"names no {wheel}, which it is called after"
    elif other := [name for name, digest in named.items() if digests.get(name, digest) != digest]:
        what = f"gives another digest than {listing(other)} has"
    else:
        return []
    fix = "give the one that was written with these wheels, or leave it out"
    return [Problem(where=str(statement), what=what, fix=fix)]


def _named(statement: Path) -> dict[str, str] | None:
    """Return the sha256 that a statement gives of files by their names; None where it is no statement."""
    try:
        return {one["name"]: one["digest"]["sha256"] for one in json.loads(statement.read_bytes())["subject"]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
