"""The contract with the real torch_npu: schemas read from its wheels, and every call our code makes."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .wheel_schemas import OPERATORS, UPSTREAMS, read_wheel

ROOT = Path(__file__).resolve().parents[3]
SCHEMAS: dict[str, dict[str, Any]] = json.loads((ROOT / "lab/emulation/schemas.json").read_text("utf-8"))
OVERLAYS = ROOT / "overlays"
# Called only where the loaded torch_npu has them with a backward.
OPTIONAL = ("npu_moe_token_permute", "npu_moe_token_unpermute")


@dataclass(frozen=True)
class Call:
    """A call of an NPU operator in an overlay: how many arguments by position, and which by name."""

    where: str
    operator: str
    positional: int
    names: tuple[str, ...]


def _calls() -> list[Call]:
    files = sorted(OVERLAYS.glob("*/tree/**/*.py")) + sorted(OVERLAYS.glob("*/shared/**/*.py"))
    return [call for file in files for call in _calls_in(file)]


def _calls_in(file: Path) -> Iterator[Call]:
    tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_operator(node.func):
            unpacked = [keyword.value for keyword in node.keywords if keyword.arg is None]
            names = [keyword.arg for keyword in node.keywords if keyword.arg is not None]
            names += [name for value in unpacked for name in _returned_names(tree, value)]
            yield Call(f"{file.name}:{node.lineno}", node.func.attr, len(node.args), tuple(names))


def _is_operator(function: ast.Attribute) -> bool:
    return ast.unparse(function.value) in ("torch.ops.npu", "torch_npu") and function.attr.startswith("npu_")


def _returned_names(tree: ast.Module, value: ast.expr) -> list[str]:
    """Return the keys of all dictionaries returned by the function whose result is unpacked into a call."""
    assert isinstance(value, ast.Call), "only what a function of the same module returns is unpacked into an operator"
    assert isinstance(value.func, ast.Name)
    name = value.func.id
    (function,) = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    assert all(isinstance(one, ast.Dict) for one in returned), f"{name} must return literal dictionaries"
    keys = [key for one in returned if isinstance(one, ast.Dict) for key in one.keys]
    return [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]


@dataclass(frozen=True)
class Schema:
    """The arguments of an operator: those that may come by position, all of them, and those without a default."""

    positional: tuple[str, ...]
    names: tuple[str, ...]
    required: tuple[str, ...]


def _parsed(schema: str) -> Schema:
    inside = re.sub(r"\[[^\]]*\]", "", schema.split("(", 1)[1].rsplit(") ->", 1)[0])
    by_position, _, by_name = inside.partition("*,")
    positional = [part.strip() for part in by_position.split(",") if part.strip()]
    keyword = [part.strip() for part in by_name.split(",") if part.strip()]
    every = [(part.split()[-1].split("=")[0], "=" in part) for part in (*positional, *keyword)]
    names = tuple(name for name, _ in every)
    return Schema(names[: len(positional)], names, tuple(name for name, optional in every if not optional))


def _misfit(call: Call, schema: Schema) -> str:
    """Return why a call does not fit a schema, or nothing."""
    if call.positional > len(schema.positional):
        return f"{call.positional} arguments by position, the operator takes {len(schema.positional)}"
    given = {*schema.positional[: call.positional], *call.names}
    unknown = sorted(set(call.names) - set(schema.names))
    missing = sorted(set(schema.required) - given)
    twice = sorted(set(call.names) & set(schema.positional[: call.positional]))
    reasons = [("unknown", unknown), ("missing", missing), ("given twice", twice)]
    return "; ".join(f"{word}: {', '.join(names)}" for word, names in reasons if names)


def _misfits(known: dict[str, Any]) -> dict[str, str]:
    """Return every call that does not fit the operators of one torch_npu, and why."""
    found = {}
    for call in _calls():
        if call.operator in known:
            found[f"{call.where} {call.operator}"] = _misfit(call, _parsed(known[call.operator]["schema"]))
        elif call.operator not in OPTIONAL:
            found[f"{call.where} {call.operator}"] = "there is no such operator"
    return {call: misfit for call, misfit in found.items() if misfit}


def test_the_overlays_call_the_operators_the_contract_is_about() -> None:
    assert {call.operator for call in _calls()} == {*OPERATORS} - {*UPSTREAMS}


@pytest.mark.parametrize("version", SCHEMAS)
def test_every_call_fits_the_recorded_schemas(version: str) -> None:
    assert _misfits(SCHEMAS[version]) == {}


def test_a_drifted_operator_is_found_by_name() -> None:
    schema = _parsed("npu_x(Tensor input, Tensor? other=None, int[2] range=[], *, float epsilon) -> Tensor")
    assert schema == Schema(("input", "other", "range"), ("input", "other", "range", "epsilon"), ("input", "epsilon"))
    assert _misfit(Call("", "npu_x", 1, ("epsilon",)), schema) == ""
    assert _misfit(Call("", "npu_x", 1, ("eps",)), schema) == "unknown: eps; missing: epsilon"
    assert _misfit(Call("", "npu_x", 4, ("epsilon",)), schema).startswith("4 arguments by position")
    assert _misfit(Call("", "npu_x", 1, ("input", "epsilon")), schema) == "given twice: input"


def test_operators_without_a_backward_are_those_the_code_gives_one_or_asks_about() -> None:
    without = {name for known in SCHEMAS.values() for name, fact in known.items() if not fact["backward"]}
    assert without == {"npu_grouped_matmul", *OPTIONAL}


# What is recorded does not change, and neither do those wheels.
@pytest.mark.slow
@pytest.mark.index
@pytest.mark.thorough
@pytest.mark.parametrize("version", SCHEMAS)
def test_the_recorded_schemas_are_those_in_the_wheels(version: str, tmp_path: Path) -> None:
    assert read_wheel(_download(f"torch_npu=={version}", tmp_path)) == SCHEMAS[version]


@pytest.mark.slow
@pytest.mark.index
def test_every_call_fits_the_newest_torch_npu(tmp_path: Path) -> None:
    assert _misfits(read_wheel(_download("torch_npu", tmp_path))) == {}


def _download(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    platform = ["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]
    platforms = [f"--platform=manylinux_2_{glibc}_x86_64" for glibc in (17, 28)]
    done = subprocess.run(
        [*command, *platform, *platforms, "--dest", str(folder), requirement],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"the package index has no {requirement}: {done.stderr.strip()[-200:]}")
    (wheel,) = folder.glob("*.whl")
    return wheel
