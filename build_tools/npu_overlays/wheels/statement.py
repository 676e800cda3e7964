"""Statement: what a build used and what it made → an in-toto statement with SLSA provenance, written and read.

A wheel cannot hold its own digest, so the statement that names it lies beside it.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from npu_overlays.files import canonical_json
from npu_overlays.overlay.inputs import Input
from npu_summary.changes import Changes, Upstream

SUFFIX = ".intoto.json"
# SLSA wants URIs of both; a package URL is one that is nobody else's.
BUILDER = "pkg:pypi/npu-overlays"
BUILD_TYPE = f"{BUILDER}#wheel/1"
_PART = 1 << 20


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
        used: what their bytes follow from.
        inputs: the files of the overlay.
    """
    upstream = record["upstream"]
    source = upstream["source"]
    digests = {file.name: sha256(file) for file in (wheel, companion)}
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
            "runDetails": {"builder": {"id": BUILDER, "version": _versions()}},
        },
    }
    statement_file(wheel).write_bytes(canonical_json(value))
    return digests[wheel.name]


def material(upstream: Upstream) -> dict[str, Any]:
    """Return the upstream bytes a wheel was made from, by its record, as a statement names them."""
    source = upstream["source"]
    if source["kind"] == "archive":
        return {"name": source.get("archive", ""), "digest": {"sha256": source.get("sha256", "")}}
    uri = f"git+{upstream['repository']}@{upstream['commit']}"
    return {"uri": uri, "digest": {"gitCommit": upstream["commit"]}}


def _file(one: Input) -> dict[str, Any]:
    """Return a file of the overlay, as a statement names it."""
    said = {"layer": one.layer, "path": one.path, "executable": one.executable}
    return {"name": one.name, "digest": {"sha256": one.sha256}, "annotations": said}


def inputs_of(materials: Iterable[Any]) -> tuple[Input, ...]:
    """Return the files of the overlay among what a statement names; raises `KeyError` or `TypeError` where it is none.

    Args:
        materials: its resolved dependencies.
    """
    said = [(one["annotations"], one["digest"]["sha256"]) for one in materials if "annotations" in one]
    return tuple(Input(**{**annotations, "sha256": digest}) for annotations, digest in said)


def _versions() -> dict[str, str]:
    """Return the versions of what made a wheel."""
    return {"npu-overlays": version("npu-overlays"), "zlib": zlib.ZLIB_RUNTIME_VERSION}


def states(wheel: Path, companion: Path, used: dict[str, str]) -> str:
    """Return the sha256 of a wheel where the statement beside it says of both files that these inputs made them.

    Of others, and where there is none, an empty text.
    """
    if stated_inputs(wheel) != used:
        return ""
    try:
        there = {file.name: sha256(file) for file in (wheel, companion)}
    except OSError:
        return ""
    return there[wheel.name] if stated_digests(wheel) == there else ""


def stated_inputs(wheel: Path) -> dict[str, str]:
    """Return what the statement beside a wheel says its bytes follow from; nothing where there is none."""
    try:
        definition = json.loads(statement_file(wheel).read_bytes())["predicate"]["buildDefinition"]
        return dict(definition["internalParameters"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def stated_digests(wheel: Path) -> dict[str, str]:
    """Return the sha256 of each file, by its name, that the statement beside a wheel names; nothing without one."""
    try:
        subject = json.loads(statement_file(wheel).read_bytes())["subject"]
        return {one["name"]: one["digest"]["sha256"] for one in subject}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
