"""Outputs: a file that a build wrote, of whatever kind → what is wrong with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from npu_overlays.errors import OutputError, Problem
from npu_overlays.wheels.constraints_files import verify_constraints
from npu_overlays.wheels.output_check import beside, verify_statement
from npu_overlays.wheels.results import Verified
from npu_overlays.wheels.statement import SUFFIX
from npu_overlays.wheels.wheel_check import verify_wheel


def verify_output(file: Path) -> Verified:
    """Check a wheel, a statement or a constraints file; raises `OutputError` where it is none of these."""
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
