"""Statement: the inputs of a build and its wheels → an in-toto statement with SLSA provenance, written and read.

A wheel cannot contain its own digest, so the statement lies beside it; on an index, the companion of a wheel lies in
another folder than both.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from npu_overlays.files import canonical_json
from npu_overlays.overlay.inputs import Input
from npu_summary.changes import Changes, Upstream

SUFFIX = ".intoto.json"
# SLSA wants URIs of both; a package URL is one that is nobody else's.
BUILDER = "pkg:pypi/npu-overlays"
BUILD_TYPE = f"{BUILDER}#wheel/1"
_PART = 1 << 20
# What is raised by reading a file that is no statement.
MALFORMED = (OSError, ValueError, KeyError, TypeError, RecursionError)


def statement_file(wheel: Path) -> Path:
    """Return where the statement of a wheel lies."""
    return wheel.with_suffix(SUFFIX)


def sha256(file: Path) -> str:
    """Return the sha256 of a file, hex."""
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while part := opened.read(_PART):  # wheels are large
            digest.update(part)
    return digest.hexdigest()


def write_statement(
    wheel: Path, companion: Path, record: Changes, used: dict[str, str], inputs: Iterable[Input]
) -> str:
    """Write the statement of a wheel and its companion beside them, and return the sha256 of the wheel, hex.

    Args:
        wheel: the patched one.
        companion: the one that goes with it.
        record: the content of the wheel's ``changes.json``.
        used: the inputs that decide their bytes.
        inputs: the files of the overlay.
    """
    upstream = record["upstream"]
    source = upstream["source"]
    digests = {file.name: sha256(file) for file in (wheel, companion)}
    versions = {"npu-overlays": version("npu-overlays"), "zlib": zlib.ZLIB_RUNTIME_VERSION}
    value = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"overlay": record["overlay"]["name"], "source": source["kind"]},
                "internalParameters": used,
                "resolvedDependencies": [material(upstream), *map(_file, inputs)],
            },
            "runDetails": {"builder": {"id": BUILDER, "version": versions}},
        },
    }
    statement_file(wheel).write_bytes(canonical_json(value))
    return digests[wheel.name]


def material(upstream: Upstream) -> dict[str, Any]:
    """Return the upstream source of a record, as a statement names it."""
    source = upstream["source"]
    if source["kind"] == "archive":
        return {"name": source.get("archive", ""), "digest": {"sha256": source.get("sha256", "")}}
    uri = f"git+{upstream['repository']}@{upstream['commit']}"
    return {"uri": uri, "digest": {"gitCommit": upstream["commit"]}}


def _file(one: Input) -> dict[str, Any]:
    """Return a file of the overlay, as a statement names it."""
    annotations = {"layer": one.layer, "path": one.path, "executable": one.executable}
    return {"name": one.name, "digest": {"sha256": one.sha256}, "annotations": annotations}


def inputs_of(materials: Iterable[Any]) -> tuple[Input, ...]:
    """Return the files of the overlay in a statement; raises `KeyError` or `TypeError` if the statement is malformed.

    Args:
        materials: its resolved dependencies.
    """
    files = [one for one in materials if "annotations" in one]
    return tuple(Input(**{**one["annotations"], "sha256": one["digest"]["sha256"]}) for one in files)


def states(wheel: Path, companion: Path, used: dict[str, str]) -> str:
    """Return the sha256 of a wheel if its statement names these bytes of both files and these inputs; else empty."""
    if stated_inputs(wheel) != used:
        return ""
    try:
        there = {file.name: sha256(file) for file in (wheel, companion)}
    except OSError:
        return ""
    return there[wheel.name] if stated_digests(wheel) == there else ""


def stated_inputs(wheel: Path) -> dict[str, str]:
    """Return the inputs that the statement beside a wheel names; nothing without a statement."""
    try:
        definition = json.loads(statement_file(wheel).read_bytes())["predicate"]["buildDefinition"]
        return dict(definition["internalParameters"])
    except MALFORMED:
        return {}


def stated_digests(wheel: Path) -> dict[str, str]:
    """Return the sha256 of each file, by its name, that the statement beside a wheel names; nothing without one."""
    return named_digests(statement_file(wheel)) or {}


def named_digests(statement: Path) -> dict[str, str] | None:
    """Return the sha256 of each file, by its name, that a statement names; None if it is no statement."""
    try:
        return digests_of(json.loads(statement.read_bytes()))
    except MALFORMED:
        return None


def digests_of(value: Any) -> dict[str, str]:
    """Return the sha256 of each file that a statement's JSON names; raises one of `MALFORMED` for other JSON."""
    return {str(one["name"]): str(one["digest"]["sha256"]) for one in value["subject"]}


def neighbour(file: Path, name: str) -> Path:
    """Return where a wheel of that name lies, or would lie: beside the file, or where an index has it."""
    beside = file.with_name(name)
    on_index = _project_folder(file, name) / name
    return on_index if _is_on_index(file) and not beside.is_file() and on_index.is_file() else beside


def statements(wheel: Path) -> Iterator[Path]:
    """Yield the statements of a wheel's version; one may be its own, as a companion's is named after our wheel."""
    version = wheel.name.partition("-")[2].partition("-")[0]
    pattern = f"*-{glob.escape(version)}-*{SUFFIX}"
    yield from sorted(wheel.parent.glob(pattern))
    if _is_on_index(wheel):
        found = sorted((wheel.parent / os.pardir).glob(f"*/{pattern}"))
        yield from (file for file in found if _is_on_index(file) and file.parent.name != wheel.absolute().parent.name)


def _is_on_index(file: Path) -> bool:
    """Return whether a file lies in a folder with the name that an index gives the folder of its project."""
    return file.absolute().parent.name == canonicalize_name(file.name.partition("-")[0])


def _project_folder(file: Path, name: str) -> Path:
    return file.parent / os.pardir / canonicalize_name(name.partition("-")[0])
