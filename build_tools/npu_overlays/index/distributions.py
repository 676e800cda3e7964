"""Distributions: a file → what an index says of it; everything that an installer would trip over is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from packaging.metadata import RawMetadata, parse_email
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from npu_overlays.archives import ArchiveError, core_metadata
from npu_overlays.errors import OutputError, Problem
from npu_overlays.index.pages import Link, identity

_SUFFIXES = (".whl", ".tar.gz")
_CHUNK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A file that is to be on the index, by its name alone.

    Args:
        file: where it lies.
        project: its normalized name.
        key: what tells it from other files to an installer.
    """

    file: Path
    project: str
    key: tuple[object, ...]

    @property
    def name(self) -> str:
        """The file's name."""
        return self.file.name


def candidates(folders: Sequence[Path], problems: list[Problem]) -> list[Candidate]:
    """Return the wheels and sdists of some folders; what is wrong is added to `problems`."""
    found: dict[tuple[object, ...], Candidate] = {}
    for file in (file for folder in folders for file in _listed(folder, problems)):
        named = identity(file.name)
        if named is None:
            what = "its name is not that of a wheel or of a source distribution"
            fix = "give it the name it was built with, NAME-VERSION-… , or put it elsewhere"
            problems.append(Problem(where=str(file), what=what, fix=fix))
            continue
        one = Candidate(file=file, project=named[0], key=named)
        other = found.setdefault(named, one)
        if other is not one and not (other.name == one.name and digest(other.file) == digest(one.file)):
            what = f"to an installer it is the same as {other.file}, and is another file"
            problems.append(Problem(where=str(file), what=what, fix="leave one of them out"))
    return list(found.values())


def _listed(folder: Path, problems: list[Problem]) -> list[Path]:
    try:
        files = [file for file in folder.iterdir() if file.name.endswith(_SUFFIXES)]
    except OSError as error:
        fix = "name a folder of wheels or source distributions"
        problems.append(Problem(where=str(folder), what=f"cannot be listed: {error.strerror}", fix=fix))
        return []
    if not files:
        what, fix = "holds no wheel and no source distribution", "name the folder they were built into"
        problems.append(Problem(where=str(folder), what=what, fix=fix))
    return sorted(files, key=lambda file: file.name)


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A file that was read.

    Args:
        link: what the index says of it.
        metadata: its core metadata, which lies beside a wheel.
    """

    link: Link
    metadata: bytes


def read(file: Path, candidate: Candidate, sha256: str) -> Distribution:
    """Read a distribution.

    Args:
        file: what is read, which may be a copy under the same name.
        candidate: where the user has it.
        sha256: of the file, hex.

    Raises:
        OutputError: it is broken, or its metadata do not fit its name; names the user's file.
    """
    try:
        metadata = core_metadata(file)
        said, _ = parse_email(metadata)
    except (ArchiveError, OSError) as error:
        raise OutputError(Problem(where=str(candidate.file), what=str(error), fix="build or fetch it again")) from error
    if problems := list(_unfit(candidate, said)):
        raise OutputError(problems)
    wheel = file.name.endswith(".whl")
    link = Link(
        filename=file.name,
        url=quote(file.name),
        hashes={"sha256": sha256},
        size=file.stat().st_size,
        requires_python=said.get("requires_python", ""),
        core_metadata={"sha256": hashlib.sha256(metadata).hexdigest()} if wheel else False,
    )
    return Distribution(link=link, metadata=metadata if wheel else b"")


def _unfit(candidate: Candidate, said: RawMetadata) -> Iterator[Problem]:
    """Yield where metadata contradict the name of their file, or say what installers cannot read."""
    where, again = str(candidate.file), "build it again, and do not rename it"
    _, version, _ = candidate.key
    if canonicalize_name(said.get("name", "")) != candidate.project:
        yield Problem(where=where, what=f"calls itself {said.get('name', '')!r} inside", fix=again)
    try:
        own = Version(said.get("version", ""))
    except InvalidVersion:
        own = None
    if own != version:
        yield Problem(where=where, what=f"says that its version is {said.get('version', '')!r} inside", fix=again)
    try:
        SpecifierSet(said.get("requires_python", ""))
    except InvalidSpecifier as error:
        fix = "correct Requires-Python and build it again: installers pass over such files, or over what is said"
        yield Problem(where=where, what=str(error), fix=fix)


def digest(file: Path, algorithm: str = "sha256") -> str:
    """Return a digest of a file, hex, read piece by piece."""
    made = hashlib.new(algorithm, usedforsecurity=False)  # what others chose may be an old one
    with file.open("rb") as stream:
        while piece := stream.read(_CHUNK):
            made.update(piece)
    return made.hexdigest()
