"""The contract with the real torch_npu: schemas read from its wheels, and every call our code makes."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from npu_schemas import (
    ASKED,
    OPERATORS,
    STACKS,
    UPSTREAMS,
    Operator,
    download,
    named_versions,
    read_wheel,
    recorded,
    stack_versions,
)

ROOT = Path(__file__).resolve().parents[3]
FACTS = recorded()
OVERLAYS = ROOT / "overlays"
# Called only if the loaded torch_npu has them with a backward.
OPTIONAL = ("npu_moe_token_permute", "npu_moe_token_unpermute")
# Passed only if the loaded torch_npu has them; grouped products run only if it has the first of these.
ASKED_ARGUMENTS = ("group_type", "sink", "rotary_mode")


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
    unknown = sorted({*call.names} - {*schema.names, *ASKED_ARGUMENTS})
    missing = sorted(set(schema.required) - given)
    twice = sorted(set(call.names) & set(schema.positional[: call.positional]))
    reasons = [("unknown", unknown), ("missing", missing), ("given twice", twice)]
    return "; ".join(f"{word}: {', '.join(names)}" for word, names in reasons if names)


def _misfits(known: Mapping[str, Operator]) -> dict[str, str]:
    """Return every call that does not fit the operators of one torch_npu, and why."""
    found = {}
    for call in _calls():
        if call.operator in known:
            schema = _parsed(known[call.operator].schema)
            if "group_type" not in call.names or "group_type" in schema.names:
                found[f"{call.where} {call.operator}"] = _misfit(call, schema)
        elif call.operator not in OPTIONAL:
            found[f"{call.where} {call.operator}"] = "there is no such operator"
    return {call: misfit for call, misfit in found.items() if misfit}


def test_the_contract_covers_the_operators_that_overlays_call() -> None:
    assert {call.operator for call in _calls()} == {*OPERATORS} - {*UPSTREAMS, *ASKED}


@pytest.mark.parametrize("version", FACTS)
def test_every_call_fits_the_recorded_schemas(version: str) -> None:
    assert _misfits(FACTS[version].operators) == {}


def test_every_torch_npu_that_a_stack_names_is_recorded() -> None:
    assert named_versions() <= FACTS.keys()


def test_an_overlay_runs_beside_the_torch_npu_of_its_stacks() -> None:
    stacks = [json.loads(file.read_text("utf-8")) for file in STACKS.glob("*.json")]
    (default,) = (stack for stack in stacks if stack.get("default"))
    named = [one["version"] for one in default["components"] if one["name"] == "torch_npu"]
    text = (ROOT / "lab/emulation/install.py").read_text("utf-8")
    assert re.findall(r'DEFAULT_VERSION = "(.*)"', text) == named
    assert stack_versions("transformers@5.10.4") == named
    assert stack_versions("transformers@8365f70") == ["2.5.1rc1", "2.5.1", "2.7.1"]
    # No stack names it.
    assert stack_versions("transformers@5.5.4") == [[*FACTS][-1]]


def test_a_drifted_operator_is_found_by_name() -> None:
    schema = _parsed("npu_x(Tensor input, Tensor? other=None, int[2] range=[], *, float epsilon) -> Tensor")
    assert schema == Schema(("input", "other", "range"), ("input", "other", "range", "epsilon"), ("input", "epsilon"))
    assert _misfit(Call("", "npu_x", 1, ("epsilon",)), schema) == ""
    assert _misfit(Call("", "npu_x", 1, ("eps",)), schema) == "unknown: eps; missing: epsilon"
    assert _misfit(Call("", "npu_x", 4, ("epsilon",)), schema).startswith("4 arguments by position")
    assert _misfit(Call("", "npu_x", 1, ("input", "epsilon")), schema) == "given twice: input"


def test_code_handles_every_operator_without_a_backward() -> None:
    operators = [item for known in FACTS.values() for item in known.operators.items()]
    without = {name for name, operator in operators if not operator.backward}
    assert without == {"npu_grouped_matmul", *OPTIONAL, *ASKED}


# What is recorded does not change, and neither do those wheels.
@pytest.mark.slow
@pytest.mark.index
@pytest.mark.thorough
@pytest.mark.parametrize("version", FACTS)
def test_the_recorded_schemas_match_the_wheels(version: str, tmp_path: Path) -> None:
    assert read_wheel(_wheel(f"torch_npu=={version}", tmp_path)) == FACTS[version]


@pytest.mark.slow
@pytest.mark.index
def test_every_call_fits_the_newest_torch_npu(tmp_path: Path) -> None:
    assert _misfits(read_wheel(_wheel("torch_npu", tmp_path)).operators) == {}


def _wheel(requirement: str, folder: Path) -> Path:
    try:
        return download(requirement, folder)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"the package index has no {requirement}: {error.stderr.strip()[-200:]}")
