"""Diagnosis: what is asked of this machine → everything found on it."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from npu_doctor import files
from npu_doctor.context import Context
from npu_doctor.examine import examine
from npu_doctor.knowledge import Knowledge, load
from npu_doctor.report import Diagnosis
from npu_doctor.system import System
from npu_summary import launch


def diagnose(*, stack: str, deterministic: bool, data: Iterable[str], imports: bool) -> Diagnosis:
    """Examine this machine.

    Args:
        stack: the stack to hold it against; empty for that of the installed wheels.
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
        Context(
            system=_here(knowledge), knowledge=knowledge, stack=chosen, deterministic=deterministic, imports=imports
        )
    )


def _here(knowledge: Knowledge) -> System:
    """Return this machine, with the path of a Python started here, which this one may be kept from."""
    path, answers = launch.ask(name.partition(".")[0] for name in knowledge.settings["packages"])()
    entries = [entry or "." for entry in (*path, *sys.path) if isinstance(entry, str)]
    return System(
        path=tuple(dict.fromkeys(map(files.absolute, entries))),
        found={name: places[0] for name, (places, _, _) in answers.items() if len(places) == 1},
        untold=next((problem for _, _, problem in answers.values() if problem), ""),
    )
