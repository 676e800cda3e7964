"""Schemas: published wheels of torch_npu → `emulation/schemas.json`, which the emulated NPU is made of.

Run as a script it reads the wheels of every version that a stack names, of the newest, and of those given as
arguments, and writes the file anew. Nothing is imported: the library in a wheel carries its schemas as text, and the
names of its autograd nodes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "emulation" / "schemas.json"
STACKS = Path(__file__).parents[1] / "stacks"
# What verl calls itself, where the loaded torch_npu has it.
UPSTREAMS = ("npu_cross_entropy_loss",)
# What is asked for its schema: the gradients that attention has.
ASKED = ("npu_fusion_attention_grad",)
OPERATORS = (
    *ASKED,
    *UPSTREAMS,
    "npu_fusion_attention",
    "npu_grouped_matmul",
    "npu_moe_token_permute",
    "npu_moe_token_unpermute",
    "npu_rms_norm",
    "npu_rotary_mul",
    "npu_swiglu",
)
_TEXT = re.compile(rb"[\x20-\x7e]{8,}")
# The library names what it demands of a grouped product that splits the reduced dimension, where it has one.
_SPLITS_REDUCTION = b"(K_SPLIT)"


@dataclass(frozen=True, kw_only=True)
class Operator:
    """What a wheel says of one operator.

    Args:
        schema: as the dispatcher takes it.
        backward: whether autograd has a node for it.
    """

    schema: str
    backward: bool


@dataclass(frozen=True, kw_only=True)
class OperatorFacts:
    """What a wheel says of the operators in `OPERATORS`.

    Args:
        operators: those it has, by name.
        splits_reduction: whether grouped products can split the reduced dimension.
    """

    operators: Mapping[str, Operator]
    splits_reduction: bool


def read_wheel(wheel: Path) -> OperatorFacts:
    """Return what a wheel of torch_npu says of the operators."""
    with zipfile.ZipFile(wheel) as archive:
        library = next(name for name in archive.namelist() if name.endswith("/libtorch_npu.so"))
        texts = set(_TEXT.findall(archive.read(library)))
    schemas = {text.decode().partition("(")[0]: text.decode() for text in texts if b") -> " in text}
    operators = {
        name: Operator(schema=schemas[name], backward=f"{_camel(name)}Backward0".encode() in texts)
        for name in OPERATORS
        if name in schemas
    }
    return OperatorFacts(operators=operators, splits_reduction=any(_SPLITS_REDUCTION in text for text in texts))


def recorded() -> dict[str, OperatorFacts]:
    """Return what is recorded, by version of torch_npu."""
    data: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return {version: _recorded_of(version, data) for version in data["versions"].split()}


def _recorded_of(version: str, data: Mapping[str, Any]) -> OperatorFacts:
    operators = {}
    for entry in data["operators"]:
        if version in entry["versions"].split():
            name = entry["schema"].partition("(")[0]
            operators[name] = Operator(schema=entry["schema"], backward=entry["backward"])
    return OperatorFacts(operators=operators, splits_reduction=version in data["splits_reduction"].split())


def stack_versions(overlay: str) -> list[str]:
    """Return the versions of torch_npu beside which stacks name an overlay, the oldest first; the newest for none."""
    named = named_versions(overlay)
    return [version for version in recorded() if version in named] or list(recorded())[-1:]


def named_versions(overlay: str = "") -> set[str]:
    """Return the versions of torch_npu that stacks name, all of them or those with an overlay."""
    found: set[str] = set()
    for file in STACKS.glob("*.json"):
        stack = json.loads(file.read_text("utf-8"))
        if not overlay or overlay in stack["overlays"]:
            found.update(one["version"] for one in stack["components"] if one["name"] == "torch_npu")
    return found


def download(requirement: str, folder: Path) -> Path:
    """Return the wheel that the package index has for a requirement; raises `CalledProcessError` where it has none."""
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:")
    wanted = ("--python-version", "3.11", "--implementation", "cp", "--abi", "cp311")
    platforms = [f"--platform=manylinux_2_{glibc}_x86_64" for glibc in (17, 28)]
    command = [*pip, *wanted, *platforms, "--dest", str(folder), requirement]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def version_of(wheel: Path) -> str:
    """Return the version in a wheel's file name."""
    return wheel.name.split("-")[1]


def render(facts: Mapping[str, OperatorFacts]) -> str:
    """Return the file's text: each schema once, with the versions that have it."""
    versions: dict[tuple[str, bool], list[str]] = {}
    for version, known in facts.items():
        for operator in known.operators.values():
            versions.setdefault((operator.schema, operator.backward), []).append(version)
    operators = [
        {"schema": schema, "backward": backward, "versions": " ".join(having)}
        for (schema, backward), having in sorted(versions.items())
    ]
    splitting = [version for version, known in facts.items() if known.splits_reduction]
    data = {"versions": " ".join(facts), "splits_reduction": " ".join(splitting), "operators": operators}
    return json.dumps(data, indent=1) + "\n"


def main(further: Iterable[str]) -> None:
    """Read the wheels of the versions that stacks name, of the newest and of further ones, and write the file."""
    from packaging.version import Version  # noqa: PLC0415  # environments with torch need no packaging

    requirements = [f"torch_npu=={version}" for version in sorted(named_versions() | {*further})]
    facts = {}
    for requirement in (*requirements, "torch_npu"):
        with tempfile.TemporaryDirectory() as folder:
            wheel = download(requirement, Path(folder))
            facts[version_of(wheel)] = read_wheel(wheel)
    FILE.write_text(render(dict(sorted(facts.items(), key=lambda item: Version(item[0])))), "utf-8")


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


if __name__ == "__main__":
    main(sys.argv[1:])
