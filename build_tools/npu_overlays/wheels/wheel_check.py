"""Wheel check: a wheel → everything in it that contradicts something else in it, without installing it.

A wheel of ours states the same thing several times: RECORD, the manifest, the summary, the diff, the metadata, the
bill of materials and the companion beside it. Each is compared with the files and with the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from npu_overlays.errors import OutputError, Problem, listing
from npu_overlays.wheels.archive_check import (
    check_archive,
    check_commands,
    check_companion,
    check_header,
    check_names,
    check_record,
    check_tags,
    unproven,
)
from npu_overlays.wheels.bill_of_materials import bill, bill_name, facts
from npu_overlays.wheels.explanation import explanation, explanations
from npu_overlays.wheels.requirements import of_extras
from npu_overlays.wheels.results import Verified
from npu_overlays.wheels.statement import neighbour
from npu_overlays.wheels.summary_check import disagreements, unsafe_names
from npu_overlays.wheels.wheel_reader import REBUILD, WheelContents, read_wheel
from npu_summary import changes, provenance
from npu_summary.verify.companions import suffix_of

# They lie beside the patched wheels and are none.
_OTHERS = {"npu-doctor": "doctor", "npu-recipes": "recipes"}
_OF_ALL = (check_record, check_names, check_tags, check_archive, check_header, check_commands)


def verify_wheel(file: Path) -> Verified:
    """Check one wheel, patched or companion; raises `OutputError` if the file is no readable wheel at all."""
    wheel = read_wheel(file)
    package, patched = summary_package(wheel), is_patched(wheel)
    kind = "patched" if patched else _OTHERS.get(canonicalize_name(wheel.name), "companion")
    problems = list(chain.from_iterable(check(wheel) for check in _OF_ALL))
    if kind not in _OTHERS.values():
        problems += _patched(wheel, package) if patched else _companion_itself(wheel)
    return Verified(
        wheel=file,
        name=wheel.name,
        version=wheel.version,
        files=len(wheel.content),
        kind=kind,
        problems=tuple(problems),
        made=_made_of(wheel.members[f"{package}/changes.json"]) if patched else "",
        unproven=("all its files",) if kind in _OTHERS.values() else unproven(wheel),
    )


def summary_package(wheel: WheelContents) -> str:
    """Return the name that the summary package of a wheel has, if there is one."""
    return f"{canonicalize_name(wheel.name).replace('-', '_')}_summary"


def is_patched(wheel: WheelContents) -> bool:
    """Return whether a wheel has a summary of changes, as patched ones do."""
    return f"{summary_package(wheel)}/changes.json" in wheel.members


def _made_of(content: bytes) -> str:
    try:
        return provenance.made_of(changes.parse(content))
    except changes.Unreadable:
        return ""  # a problem of its own


def _companion_itself(wheel: WheelContents) -> Iterator[Problem]:
    """Yield files in a wheel without a summary that no companion has."""
    suffix = suffix_of(wheel.version)
    distribution = f"{wheel.name}-{suffix}"
    tops = [place.removesuffix(".py") for place in wheel.content if place.endswith(".py") and "/" not in place]
    said = {f"{top}.py": explanation(wheel.name, wheel.version, distribution, top) for top in tops if suffix}
    if suffix:
        yield from _bill(wheel, None)
        yield from check_companion(wheel)
    if other := [place for place, content in wheel.content.items() if said.get(place) != content]:
        what = f"has no summary package, and holds what no companion does: {listing(other)}"
        yield Problem(where=str(wheel.file), what=what, fix="name a wheel that npu-overlays built")
    requirements = map(Requirement, wheel.requires if suffix else ())
    for requirement in requirements:
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
    yield from _bill(wheel, record)
    yield from _required(wheel, record)
    yield from _companion(wheel, package, record)


def _bill(wheel: WheelContents, record: changes.Changes | None) -> Iterator[Problem]:
    """Yield a problem where the bill of materials is missing, or contradicts METADATA and the summary."""
    place = f"sboms/{bill_name(wheel.name)}"
    try:
        expected = bill(facts(wheel.members[f"{wheel.info}/METADATA"].decode()), record)
    except ValueError as error:
        yield wheel.problem("METADATA", str(error))
        return
    if (said := wheel.members.get(f"{wheel.info}/{place}")) is None:
        yield wheel.problem(place, "is missing")
    elif said != expected:
        yield wheel.problem(place, "says something else than METADATA and the summary")


def _required(wheel: WheelContents, record: changes.Changes) -> Iterator[Problem]:
    """Yield exact requirements that METADATA lacks: without them an installer may pair versions that do not fit."""
    # Upstream may require its partner with an extra, or under a condition; a requirement of an extra does not count.
    there = set(_specifiers(wheel))
    for wanted in (f"{record['companion']}=={wheel.version}", *record["requires"]):
        try:
            requirement = _release(wanted)
        except InvalidRequirement:
            yield wheel.problem("changes.json", f"requires `{wanted}`, which is no requirement")
            continue
        if requirement not in there:
            yield wheel.problem("METADATA", f"does not require {wanted}")


def _specifiers(wheel: WheelContents) -> Iterator[tuple[str, SpecifierSet]]:
    extras = of_extras(wheel.requires)
    for text in wheel.requires:
        with suppress(InvalidRequirement):
            if text not in extras:
                yield _release(text)


def _release(requirement: str) -> tuple[str, SpecifierSet]:
    """Return name and versions of a requirement; raises `InvalidRequirement`."""
    parsed = Requirement(requirement)
    return canonicalize_name(parsed.name), parsed.specifier


def _companion(wheel: WheelContents, package: str, record: changes.Changes) -> Iterator[Problem]:
    """Yield the problems of the companion beside a wheel."""
    name = record["companion"]
    beside = neighbour(wheel.file, f"{name.replace('-', '_')}-{wheel.version}-py3-none-any.whl")
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
    shipped = [place for place in wheel.content if not place.startswith(f"{package}/")]
    expected = explanations(name, wheel.version, wheel.name, shipped)
    if not companion.problems and (missing := expected.keys() - read_wheel(beside).content.keys()):
        yield Problem(where=str(beside), what=f"lacks {listing(missing)}", fix=REBUILD)
    if (canonicalize_name(companion.name), companion.version) != (canonicalize_name(name), wheel.version):
        yield Problem(where=str(beside), what=f"is {companion.name} {companion.version}", fix=REBUILD)
