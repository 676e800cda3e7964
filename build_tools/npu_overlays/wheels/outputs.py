"""Outputs: a file that a build wrote, of whatever kind → what is wrong with it."""

from __future__ import annotations

from pathlib import Path

from npu_doctor.knowledge import load as load_knowledge
from npu_overlays.errors import OutputError, Problem
from npu_overlays.installs.stacks import constraints, constraints_name
from npu_overlays.wheels.statement import SUFFIX, verify_statement
from npu_overlays.wheels.verification import Verified, verify_wheel


def verify_output(file: Path) -> Verified:
    """Check a wheel, a statement or a constraints file; raises `OutputError` where it is none of these."""
    if file.name.endswith(SUFFIX):
        return verify_statement(file)
    if file.suffix == ".txt" and (found := _constraints(file)):
        return found
    if file.is_file() and file.suffix != ".whl":
        what = "neither a wheel nor a statement nor the constraints of a stack"
        raise OutputError(Problem(where=str(file), what=what, fix="leave it out"))
    return verify_wheel(file)


def _constraints(file: Path) -> Verified | None:
    """Hold a constraints file against the stack it is called after; None where it is called after none."""
    knowledge = load_knowledge()
    stack = next((one for one in knowledge.stacks if constraints_name(one) == file.name), None)
    if stack is None or not file.is_file():
        return None
    problems = []
    if file.read_bytes() != constraints(stack, knowledge).encode():
        what = f"is not what npu-overlays says of the stack {stack.name}"
        problems.append(Problem(where=str(file), what=what, fix="build again: it is written anew"))
    return Verified(
        wheel=file, name="constraints", version=stack.name, files=1, kind="constraints", problems=tuple(problems)
    )
