"""Statements: what a build used, written beside what it made, as an in-toto statement with SLSA provenance.

A wheel cannot hold its own digest, so the statement that names it lies beside
it. It also answers whether a wheel is up to date.
"""

from __future__ import annotations

import hashlib
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import npu_overlays
import npu_summary
from npu_overlays.loading import Loaded
from npu_overlays.reproducible import canonical_json

BUILD_TYPE = "npu-overlays/wheel/1"
# Whose code makes a wheel or travels in it; npu-doctor's does neither.
_TOOL = tuple(Path(package.__path__[0]) for package in (npu_overlays, npu_summary))


def statement_file(wheel: Path) -> Path:
    """Return where the statement of a wheel lies."""
    return wheel.with_suffix(".intoto.json")


def inputs(loaded: Loaded, digest: str) -> dict[str, str]:
    """Return everything a wheel's bytes follow from, apart from the upstream bytes the pin vouches for.

    Args:
        loaded: the overlay and its partners.
        digest: over the files it is made of.
    """
    return {
        "overlay": digest,
        "requires": "; ".join(
            f"{pair.requirement} from {pair.overlay} revision {pair.revision}" for pair in loaded.pairs
        ),
        "extras": hashlib.sha256(canonical_json(loaded.extras)).hexdigest(),
        "tool": _tool_digest(),
        "hatchling": version("hatchling"),
        "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", ""),
    }


def _tool_digest() -> str:
    digest = hashlib.sha256()
    for package in _TOOL:
        for file in sorted(package.rglob("*")):
            if file.suffix in (".py", ".json"):
                content = hashlib.sha256(file.read_bytes()).hexdigest()
                digest.update(f"{file.relative_to(package.parent).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def sha256(file: Path) -> str:
    """Return the sha256 of a file, hex."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def write_statement(wheel: Path, companion: Path, record: dict[str, Any], used: dict[str, str]) -> None:
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
                "resolvedDependencies": [material(upstream)],
            },
            "runDetails": {"builder": {"id": "npu-overlays", "version": {"npu-overlays": version("npu-overlays")}}},
        },
    }
    statement_file(wheel).write_bytes(canonical_json(value))


def material(upstream: dict[str, Any]) -> dict[str, Any]:
    """Return the upstream bytes a wheel was made from, by its record, as a statement names them."""
    source = upstream["source"]
    if source["kind"] == "archive":
        return {"name": source["archive"], "digest": {"sha256": source["sha256"]}}
    uri = f"git+{upstream['repository']}@{upstream['commit']}"
    return {"uri": uri, "digest": {"gitCommit": upstream["commit"]}}


def up_to_date(wheel: Path, companion: Path, used: dict[str, str]) -> bool:
    """Return whether both files are what their statement says, made from these inputs."""
    try:
        value = json.loads(statement_file(wheel).read_text("utf-8"))
        definition = value["predicate"]["buildDefinition"]
        named = {subject["name"]: subject["digest"]["sha256"] for subject in value["subject"]}
        return definition["internalParameters"] == used and named == {
            file.name: sha256(file) for file in (wheel, companion)
        }
    except (OSError, ValueError, KeyError, TypeError):
        return False
