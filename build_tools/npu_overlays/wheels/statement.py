"""Statement: what a build used and what it made → an in-toto statement with SLSA provenance, written, read and held to.

A wheel cannot hold its own digest, so the statement that names it lies beside it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from npu_overlays.errors import OutputError, Problem
from npu_overlays.reproducible import canonical_json
from npu_overlays.wheels.inspection import read_record
from npu_overlays.wheels.verification import Verified
from npu_summary.changes import Changes, Upstream

SUFFIX = ".intoto.json"
BUILD_TYPE = "npu-overlays/wheel/1"
_OURS = "name a file that `npu-overlays build` wrote"
_FIX = "build the wheel again, or fetch both again from where they were published"


def statement_file(wheel: Path) -> Path:
    """Return where the statement of a wheel lies."""
    return wheel.with_suffix(SUFFIX)


def sha256(file: Path) -> str:
    """Return the sha256 of a file, hex."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def write_statement(wheel: Path, companion: Path, record: Changes, used: dict[str, str]) -> None:
    """Write the statement of a wheel and its companion beside them."""
    upstream = record["upstream"]
    source = upstream["source"]
    value = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": file.name, "digest": {"sha256": sha256(file)}} for file in (wheel, companion)],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"overlay": record["overlay"]["name"], "source": source["kind"]},
                "internalParameters": used,
                "resolvedDependencies": [_material(upstream)],
            },
            "runDetails": {"builder": {"id": "npu-overlays", "version": {"npu-overlays": version("npu-overlays")}}},
        },
    }
    statement_file(wheel).write_bytes(canonical_json(value))


def _material(upstream: Upstream) -> dict[str, Any]:
    """Return the upstream bytes a wheel was made from, by its record, as a statement names them."""
    source = upstream["source"]
    if source["kind"] == "archive":
        return {"name": source.get("archive", ""), "digest": {"sha256": source.get("sha256", "")}}
    uri = f"git+{upstream['repository']}@{upstream['commit']}"
    return {"uri": uri, "digest": {"gitCommit": upstream["commit"]}}


def states(wheel: Path, companion: Path, used: dict[str, str]) -> bool:
    """Return whether the statement beside a wheel says of both files that they are these, made from these inputs."""
    try:
        value = json.loads(statement_file(wheel).read_text("utf-8"))
        definition = value["predicate"]["buildDefinition"]
        named = {subject["name"]: subject["digest"]["sha256"] for subject in value["subject"]}
        return definition["internalParameters"] == used and named == {
            file.name: sha256(file) for file in (wheel, companion)
        }
    except (OSError, ValueError, KeyError, TypeError):
        return False


def verify_statement(file: Path) -> Verified:
    """Hold a statement against the wheels that lie beside it; raises `OutputError` where it is no statement of ours."""
    try:
        value: Any = json.loads(file.read_bytes())
        definition = value["predicate"]["buildDefinition"]
        named = {str(one["name"]): str(one["digest"]["sha256"]) for one in value["subject"]}
        kind, materials = definition["buildType"], definition["resolvedDependencies"]
        overlay = definition["internalParameters"]["overlay"]
    except OSError as error:
        raise OutputError(Problem(where=str(file), what=f"cannot be read: {error.strerror}", fix=_FIX)) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        what = f"is not a statement of npu-overlays ({error!r})"
        raise OutputError(Problem(where=str(file), what=what, fix=_OURS)) from error
    if kind != BUILD_TYPE:
        what = f"is a statement of {kind}, not of {BUILD_TYPE}"
        raise OutputError(Problem(where=str(file), what=what, fix=_OURS))
    problems = [*_subjects(file, named), *_materials(file, named, materials, overlay)]
    wheel = _wheel(file, named)
    return Verified(
        wheel=file,
        name=wheel.name.split("-")[0].replace("_", "-") if wheel else "",
        version=wheel.name.split("-")[1] if wheel else "",
        files=len(named),
        kind="statement",
        problems=tuple(problems),
    )


def _wheel(file: Path, named: dict[str, str]) -> Path | None:
    """Return the wheel it is of: the one it is called after."""
    return next((file.with_name(name) for name in named if statement_file(Path(name)).name == file.name), None)


def _subjects(file: Path, named: dict[str, str]) -> Iterator[Problem]:
    for name, digest in named.items():
        beside = file.with_name(Path(name).name)
        if not beside.is_file():
            yield Problem(where=str(file), what=f"is of {name}, which does not lie beside it", fix=_FIX)
        elif sha256(beside) != digest:
            yield Problem(where=str(file), what=f"gives another digest than {name} has", fix=_FIX)
    if _wheel(file, named) is None:
        yield Problem(where=str(file), what="names no wheel that it is called after", fix=_FIX)


def _materials(file: Path, named: dict[str, str], materials: Any, overlay: Any) -> Iterator[Problem]:
    """Yield where the wheel says of itself that it was made from something else."""
    wheel = _wheel(file, named)
    if wheel is None or not wheel.is_file() or sha256(wheel) != named[wheel.name]:
        return
    try:
        record = read_record(wheel)
    except OutputError as error:
        yield from error.problems
        return
    if materials != [_material(record["upstream"])]:
        yield Problem(where=str(file), what=f"names other upstream bytes than {wheel.name} says of itself", fix=_FIX)
    if overlay != record["overlay"]["sha256"]:
        yield Problem(where=str(file), what=f"names another overlay than {wheel.name} says of itself", fix=_FIX)
