"""Output check: a file that a build wrote, of any kind → everything that is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from npu_overlays.errors import OutputError, Problem
from npu_overlays.overlay.inputs import inputs_digest
from npu_overlays.wheels.constraints_files import verify_constraints
from npu_overlays.wheels.inspection import read_record
from npu_overlays.wheels.results import Verified
from npu_overlays.wheels.statement import (
    BUILD_TYPE,
    MALFORMED,
    SUFFIX,
    digests_of,
    inputs_of,
    material,
    named_digests,
    neighbour,
    sha256,
    statement_file,
    statements,
)
from npu_overlays.wheels.wheel_check import verify_wheel


def verify_output(file: Path) -> Verified:
    """Check a wheel, a statement or a constraints file; raises `OutputError` for any other file."""
    if file.name.endswith(SUFFIX):
        return verify_statement(file)
    if found := verify_constraints(file):
        return found
    if file.is_file() and file.suffix != ".whl":
        what = "neither a wheel nor a statement nor the constraints of a stack"
        raise OutputError(Problem(where=str(file), what=what, fix="leave it out"))
    found = verify_wheel(file)
    stated, problems = beside(file)
    problems = (*found.problems, *problems)
    return replace(found, problems=problems, unproven=() if stated else found.unproven)


_OURS = "name a file that `npu-overlays build` wrote"
_FIX = "build the wheel again, or fetch both again from where they were published"


def verify_statement(file: Path) -> Verified:
    """Compare a statement with the wheels beside it; raises `OutputError` if it is no statement of ours."""
    try:
        value: Any = json.loads(file.read_bytes())
        definition = value["predicate"]["buildDefinition"]
        named = digests_of(value)
        kind, materials = definition["buildType"], definition["resolvedDependencies"]
        overlay = definition["internalParameters"]["overlay"]
        inputs = inputs_digest(inputs_of(materials))
    except OSError as error:
        raise OutputError(Problem(where=str(file), what=f"cannot be read: {error.strerror}", fix=_FIX)) from error
    except MALFORMED as error:
        what = f"is not a statement of npu-overlays ({error!r})"
        raise OutputError(Problem(where=str(file), what=what, fix=_OURS)) from error
    if kind != BUILD_TYPE:
        what = f"is a statement of {kind}, not of {BUILD_TYPE}"
        raise OutputError(Problem(where=str(file), what=what, fix=_OURS))
    problems = [*_subjects(file, named), *_materials(file, named, materials, overlay)]
    if inputs != overlay:
        what = "names files of the overlay whose digests do not give the one it states for all"
        problems.append(Problem(where=str(file), what=what, fix=_FIX))
    wheel = _wheel(file, named)
    return Verified(
        wheel=file,
        name=wheel.name.split("-")[0].replace("_", "-") if wheel else "",
        version=wheel.name.split("-")[1] if wheel else "",
        files=len(named),
        kind="statement",
        problems=tuple(problems),
    )


def beside(wheel: Path) -> tuple[bool, tuple[Problem, ...]]:
    """Return whether a statement beside a wheel names its very bytes, and a problem for each that names others."""
    problems: list[Problem] = []
    digest = sha256(wheel)
    for file in statements(wheel):
        # `verify_statement` reports one that cannot be read.
        if said := (named_digests(file) or {}).get(wheel.name):
            if said == digest:
                return True, ()
            problems.append(_other(file, wheel.name))
    return False, tuple(problems)


def _other(file: Path, name: str) -> Problem:
    return Problem(where=str(file), what=f"gives another digest than {name} has", fix=_FIX)


def _wheel(file: Path, named: dict[str, str]) -> Path | None:
    """Return the wheel that a statement is named after."""
    return next((file.with_name(name) for name in named if statement_file(Path(name)).name == file.name), None)


def _subjects(file: Path, named: dict[str, str]) -> Iterator[Problem]:
    for name, digest in named.items():
        beside = neighbour(file, Path(name).name)
        if not beside.is_file():
            yield Problem(where=str(file), what=f"is of {name}, which does not lie beside it", fix=_FIX)
        elif sha256(beside) != digest:
            yield _other(file, name)
    if _wheel(file, named) is None:
        yield Problem(where=str(file), what="names no wheel that it is called after", fix=_FIX)


def _materials(file: Path, named: dict[str, str], materials: Any, overlay: Any) -> Iterator[Problem]:
    """Yield problems where the wheel itself names another source or overlay."""
    wheel = _wheel(file, named)
    if wheel is None or not wheel.is_file() or sha256(wheel) != named[wheel.name]:
        return
    try:
        record = read_record(wheel)
    except OutputError as error:
        yield from error.problems
        return
    if materials[:1] != [material(record["upstream"])]:
        yield Problem(where=str(file), what=f"names other upstream bytes than {wheel.name} says of itself", fix=_FIX)
    if overlay != record["overlay"]["sha256"]:
        yield Problem(where=str(file), what=f"names another overlay than {wheel.name} says of itself", fix=_FIX)
