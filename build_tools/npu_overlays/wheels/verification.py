"""Verification: a wheel → everything in it that contradicts something else in it; it is not installed for that.

A wheel of ours says the same thing several times over: RECORD, the manifest,
the summary, the diff, the metadata and the companion beside it. Here each is
held against the files and against the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from npu_overlays.errors import OutputError, Problem
from npu_overlays.wheels.agreement import disagreements, unsafe_names
from npu_overlays.wheels.contents import REBUILD, WheelContents, check_names, check_record, check_tags, read_wheel
from npu_summary import changes, provenance
from npu_summary.verify.companions import suffix_of

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
        made=_made_of(wheel.members[f"{package}/changes.json"]) if patched else "",
    )


def _made_of(content: bytes) -> str:
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
        record = changes.parse(wheel.members[f"{package}/changes.json"])
    except changes.Unreadable as error:
        yield wheel.problem("changes.json", str(error))
        return
    distribution = record["distribution"]
    if (distribution["name"], distribution["version"]) != (wheel.name, wheel.version):
        said = f"{distribution['name']} {distribution['version']}"
        yield wheel.problem("changes.json", f"is of {said}, METADATA of {wheel.name} {wheel.version}")
    if wrong := [*unsafe_names(wheel, record)]:
        yield from wrong
        return
    yield from disagreements(wheel, package, record)
    yield from _required(wheel, record)
    yield from _companion(wheel, record)


def _required(wheel: WheelContents, record: changes.Changes) -> Iterator[Problem]:
    """Yield exact requirements that METADATA lacks: without them an installer may pair what does not fit."""
    for wanted in (f"{record['companion']}=={wheel.version}", *record["requires"]):
        try:
            requirement = str(Requirement(wanted))
        except InvalidRequirement:
            yield wheel.problem("changes.json", f"requires `{wanted}`, which is no requirement")
            continue
        if requirement not in wheel.requires:
            yield wheel.problem("METADATA", f"does not require {wanted}")


def _companion(wheel: WheelContents, record: changes.Changes) -> Iterator[Problem]:
    """Yield what is wrong with the companion beside the wheel."""
    name = record["companion"]
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
