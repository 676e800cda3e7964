"""Diagnosis: what is asked of this machine → everything found on it."""

from __future__ import annotations

from collections.abc import Iterable

from npu_doctor.context import Context
from npu_doctor.examine import examine
from npu_doctor.knowledge import load
from npu_doctor.report import Diagnosis
from npu_doctor.system import System


def diagnose(*, stack: str, deterministic: bool, data: Iterable[str], imports: bool) -> Diagnosis:
    """Examine this machine.

    Args:
        stack: the stack to hold it against; empty for the published tables only.
        deterministic: whether the variables of a reproducible run are wanted.
        data: files with more tables, ranges and stacks.
        imports: whether to try the real imports in a child process.

    Returns:
        What was found.

    Raises:
        DataError: there is no such stack, or a file of data cannot be used.
    """
    knowledge = load(data)
    chosen = knowledge.stack(stack) if stack else None
    return examine(
        Context(system=System(), knowledge=knowledge, stack=chosen, deterministic=deterministic, imports=imports)
    )
