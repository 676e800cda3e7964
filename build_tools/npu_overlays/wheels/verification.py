"""Verification: a wheel → everything in it that contradicts something else in it; it is not installed for that.

A wheel of ours says the same thing several times over: RECORD, the manifest,
the summary, the diff, the metadata and the companion beside it. Here each is
held against the files and against the others.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from npu_overlays import git
from npu_overlays.changes.record import MANIFEST_SCHEMA
from npu_overlays.errors import OutputError, Problem
from npu_overlays.overlay.compiled import BINARY, names
from npu_overlays.paths import unsafe
from npu_overlays.proc import ProcessError
from npu_overlays.wheels.contents import REBUILD, WheelContents, check_names, check_record, check_tags, read_wheel
from npu_summary import changes, provenance
from npu_summary.verify.ownership import suffix_of

DOCTOR = "npu-doctor"  # lies beside the patched wheels and is none


@dataclass(frozen=True, kw_only=True)
class Verified:
    """One wheel that was looked at.

    Args:
        wheel: the file.
        name: its distribution.
        version: its version.
        files: how many files it holds.
        kind: ``patched``, ``companion`` for the empty one under upstream's name, ``doctor`` or ``statement``.
        problems: what is wrong with it.
        made: of a patched one, which upstream it was made of, and from what bytes.
    """

    wheel: Path
    name: str
    version: str
    files: int
    kind: str
    problems: tuple[Problem, ...]
    made: str = ""


def verify_wheel(file: Path) -> Verified:
    """Check one wheel, patched or companion; raises `OutputError` where the file is no readable wheel at all."""
    wheel = read_wheel(file)
    package = f"{canonicalize_name(wheel.name).replace('-', '_')}_summary"
    patched = f"{package}/changes.json" in wheel.members
    checks = [check_record(wheel), check_names(wheel), check_tags(wheel)]
    kind = "patched" if patched else "doctor" if canonicalize_name(wheel.name) == DOCTOR else "companion"
    if kind != "doctor":
        checks += [_patched(wheel, package)] if patched else [_companion_itself(wheel)]
    return Verified(
        wheel=file,
        name=wheel.name,
        version=wheel.version,
        files=len(wheel.content),
        kind=kind,
        problems=tuple(problem for check in checks for problem in check),
        made=_source_of(wheel.members[f"{package}/changes.json"]) if patched else "",
    )


def _source_of(content: bytes) -> str:
    try:
        return provenance.made_of(changes.parse(content))
    except changes.Unreadable:
        return ""  # a problem of its own


def _companion_itself(wheel: WheelContents) -> Iterator[Problem]:
    """Yield why a wheel without a summary is no companion either."""
    if wheel.content:
        what = f"holds {len(wheel.content)} files and no summary package; a companion holds none"
        yield Problem(where=str(wheel.file), what=what, fix="name a wheel that npu-overlays built")
    suffix = suffix_of(wheel.version)
    for requirement in map(Requirement, wheel.requires if suffix else ()):
        patched = canonicalize_name(requirement.name) == f"{canonicalize_name(wheel.name)}-{suffix}"
        if patched and str(requirement.specifier) != f"=={wheel.version}":
            yield wheel.problem("METADATA", f"requires {requirement}, which is not of its own version {wheel.version}")


def _patched(wheel: WheelContents, package: str) -> Iterator[Problem]:
    try:
        record: Any = changes.parse(wheel.members[f"{package}/changes.json"])
    except changes.Unreadable as error:
        yield wheel.problem("changes.json", str(error))
        return
    distribution = record["distribution"]
    if (distribution["name"], distribution["version"]) != (wheel.name, wheel.version):
        said = f"{distribution['name']} {distribution['version']}"
        yield wheel.problem("changes.json", f"is of {said}, METADATA of {wheel.name} {wheel.version}")
    if leading := [*_leading_out(record)]:
        # Whoever made the wheel has written this; files are made under these names below.
        yield from (wheel.problem("changes.json", f"names a file `{path}` that {reason}") for path, reason in leading)
        return
    yield from _manifest(wheel, package)
    yield from _summary(wheel, record)
    yield from _diff(wheel, package, record)
    yield from _required(wheel, record)
    yield from _compiled(wheel, record)
    yield from _companion(wheel, record)


def _leading_out(record: Any) -> Iterator[tuple[str, str]]:
    """Yield the names in a summary that are no paths below a folder, and what is wrong with each."""
    files = [str(one.get(key) or "") for one in record["files"] for key in ("path", "installed")]
    companion = str(record.get("companion", ""))
    yield from ((path, reason) for path in files if path and (reason := unsafe(path)))
    if companion and (reason := "is no name" if "/" in companion else unsafe(companion)):
        yield companion, reason


def _manifest(wheel: WheelContents, package: str) -> Iterator[Problem]:
    """Yield files of which the manifest says something else than the wheel holds."""
    own = f"{package}/manifest.json"
    try:
        value = json.loads(wheel.members.get(own, b""))
        listed = dict(value["files"])
        if value["schema"] != MANIFEST_SCHEMA:
            raise ValueError(f"schema {value['schema']}")
    except (ValueError, KeyError, TypeError) as error:
        yield wheel.problem("manifest.json", f"is missing or not a manifest: {error}")
        return
    actual = {path: hashlib.sha256(data).hexdigest() for path, data in wheel.content.items() if path != own}
    for path in sorted(path for path in listed.keys() | actual.keys() if listed.get(path) != actual.get(path)):
        yield wheel.problem("manifest.json", f"does not fit {path}")


def _summary(wheel: WheelContents, record: Any) -> Iterator[Problem]:
    """Yield changed files that are not what the summary says came out."""
    for one in record["files"]:
        place = one.get("installed", "")
        content = wheel.members.get(place) if place else None
        actual = None if content is None else hashlib.sha256(content).hexdigest()
        if place and actual != one.get("after"):
            yield wheel.problem("changes.json", f"says that {place} is something else than the wheel holds")


def _diff(wheel: WheelContents, package: str, record: Any) -> Iterator[Problem]:
    """Yield changed files that the diff, taken back, does not turn into upstream's.

    The inverse is done by git, as a reader of the diff would do it.
    """
    shipped = [one for one in record["files"] if one.get("installed")]
    with tempfile.TemporaryDirectory(prefix="npu-overlays-diff-") as folder:
        for one in shipped:
            if (content := wheel.members.get(one["installed"])) is not None:
                path = Path(folder, one["path"])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        diff = wheel.members.get(f"{package}/changes.diff", b"")
        # What changes nothing has an empty diff, which git refuses.
        if not shipped and not diff:
            return
        try:
            git.apply(diff, Path(folder), "--reverse", *(f"--include={one['path']}" for one in shipped))
        except ProcessError as error:
            yield wheel.problem("changes.diff", f"cannot be taken back: {error}")
            return
        for one in shipped:
            path = Path(folder, one["path"])
            before = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
            if before != one.get("before"):
                yield wheel.problem("changes.diff", f"taken back does not give upstream's {one['path']}")


def _compiled(wheel: WheelContents, record: Any) -> Iterator[Problem]:
    """Yield compiled files of a wheel that claims to be for any platform, but for those its overlay names."""
    if not wheel.file.name.endswith("-any.whl"):
        return
    for path in sorted(path for path in wheel.content if BINARY.search(path)):
        if not any(names(glob, path) for glob in record.get("not_built", ())):
            yield wheel.problem(path, "is compiled for one platform, and the wheel claims to be for any")


def _required(wheel: WheelContents, record: Any) -> Iterator[Problem]:
    """Yield exact requirements that METADATA lacks: without them an installer may pair what does not fit."""
    for wanted in (f"{record.get('companion', '')}=={wheel.version}", *record.get("requires", ())):
        if str(Requirement(wanted)) not in wheel.requires:
            yield wheel.problem("METADATA", f"does not require {wanted}")


def _companion(wheel: WheelContents, record: Any) -> Iterator[Problem]:
    """Yield what is wrong with the companion beside the wheel."""
    name = str(record.get("companion", ""))
    beside = wheel.file.with_name(f"{name.replace('-', '_')}-{wheel.version}-py3-none-any.whl")
    if not beside.is_file():
        what = f"its companion {beside.name} does not lie beside it, and it cannot be installed without"
        yield Problem(where=str(wheel.file), what=what, fix="build both, or fetch the companion too")
        return
    try:
        companion = verify_wheel(beside)
    except OutputError as error:
        yield from error.problems
        return
    yield from companion.problems
    if (canonicalize_name(companion.name), companion.version) != (canonicalize_name(name), wheel.version):
        yield Problem(where=str(beside), what=f"is {companion.name} {companion.version}", fix=REBUILD)
