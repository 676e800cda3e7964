"""The examination: a context → a report, whatever state the machine is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeVar

from npu_doctor.checks import CHECKS, Check
from npu_doctor.choice import Choice, choose, mismatch, score
from npu_doctor.context import Context
from npu_doctor.model import LEVELS, Origin, Row
from npu_doctor.report import Diagnosis

T = TypeVar("T")

_FACTS = ("python", "cann", "hdk", "firmware", "nnal", "torch", "torch_npu", "vllm", "vllm_ascend", "sglang")
_FEWEST = 2  # pins that must fit before a stack is called the nearest


def examine(context: Context) -> Diagnosis:
    """Run every check.

    Args:
        context: the machine and what is asked of it; where it names no stack, the wheels that are installed do.

    Returns:
        Its report. A check that fails is a row of its own, never a traceback: the machines that need a doctor are ill.
    """
    rows: list[Row] = []
    choice = Choice(wheels={})
    if context.stack is None:
        choice = _answer("choice", lambda: choose(context), choice, rows)
        context = replace(context, stack=next(iter(choice.stacks), None))
        rows += mismatch(choice, context.knowledge)
    _answer("commands", context.start, None, rows)
    rows += [row for name, check in CHECKS.items() for row in _run(name, check, context)]
    nearest = "" if context.stack else _answer("nearest", lambda: _nearest(context), "", rows)
    found: dict[str, Origin | None] = {}
    for package in context.settings["packages"]:
        found[package] = _answer(f"origin of {package}", partial(context.origin, package), None, rows)
    none: dict[str, str] = {}
    facts = _answer("facts", lambda: _facts(context), none, rows)
    return Diagnosis(
        stack=context.stack.name if context.stack else "",
        nearest=nearest,
        wheels=choice.wheels if choice.stacks else {},
        others=tuple(stack.name for stack in choice.stacks[1:]),
        rows=tuple(sorted(rows, key=lambda row: LEVELS.index(row.level))),
        origins=tuple(filter(None, found.values())),
        facts=facts,
    )


def _run(name: str, check: Check, context: Context) -> Iterator[Row]:
    try:
        for row in check(context):
            yield replace(row, check=name)
    except Exception as error:  # the machine may be in any state; one check must not hide the others
        yield _failure_row(name, error)


def _answer(name: str, question: Callable[[], T], otherwise: T, rows: list[Row]) -> T:
    """Return the answer to a question; where it fails, add a row that says so."""
    try:
        return question()
    except Exception as error:  # as for a check
        rows.append(_failure_row(name, error))
        return otherwise


def _failure_row(name: str, error: Exception) -> Row:
    why = f"the check {name} failed: {type(error).__name__}: {error}"
    fix = "report it with the output of `python -I -m npu_doctor --json`"
    return Row(component=name, level="unknown", found="could not be told", why=why, fix=fix, check=name)


def _nearest(context: Context) -> str:
    """Return the stack most of whose pins are installed; empty where hardly any is."""
    scores = {stack.name: score(context, stack) for stack in context.knowledge.stacks}
    best = max(scores, key=lambda name: scores[name], default="")
    return best if scores.get(best, 0) >= _FEWEST else ""


def _facts(context: Context) -> dict[str, str]:
    """Return what machines of one cluster should agree on, for whoever compares them."""
    facts = {name: context.version(name) for name in _FACTS}
    facts["machine"] = context.system.machine
    facts["cann_runtime"] = context.ascend.components.get("runtime", "")
    facts["chips"] = ", ".join(device.name for device in context.ascend.devices)
    facts["cann_home"] = context.system.real(context.ascend.home) if context.ascend.home else ""
    facts["cpus"] = str(context.system.cpus or "")
    return facts
