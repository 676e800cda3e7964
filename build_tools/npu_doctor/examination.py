"""The examination: a machine in any state, and the stack of its wheels → a report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from npu_doctor import files, versions
from npu_doctor.checks import CHECKS, Check
from npu_doctor.context import Context
from npu_doctor.knowledge import Knowledge, load
from npu_doctor.model import LEVELS, Level, Origin, Row
from npu_doctor.report import Diagnosis
from npu_doctor.stacks import Stack
from npu_doctor.system import System
from npu_summary import installed, launch

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
    choice = StackChoice(wheels={})
    if context.stack is None:
        choice = _answer("choice", lambda: choose(context), choice, rows)
        context = replace(context, stack=next(iter(choice.stacks), None))
        rows += mismatch(choice, context.knowledge)
    _answer("commands", context.start, None, rows)
    for name, check in CHECKS.items():
        rows += _run(name, check, context)
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
    """Return the facts that have to be equal on all machines of a cluster."""
    facts = {name: context.version(name) for name in _FACTS}
    facts["machine"] = context.system.machine
    facts["cann_runtime"] = context.ascend.components.get("runtime", "")
    facts["chips"] = ", ".join(device.name for device in context.ascend.devices)
    facts["cann_home"] = context.system.real(context.ascend.home) if context.ascend.home else ""
    facts["cpus"] = str(context.system.cpus or "")
    return facts


@dataclass(frozen=True, kw_only=True)
class StackChoice:
    """The stacks that wheels were built for."""

    wheels: Mapping[str, str]  # by patched distribution its overlay, of the projects that stacks have overlays of
    stacks: Sequence[Stack] = ()  # those that hold all these overlays, the one to take first


def choose(context: Context) -> StackChoice:
    """Return the stacks that the installed wheels say they were built for.

    The default stack comes first, then those that fit before those that are kept as they were published; of several
    the one of whose versions most are installed.
    """
    overlays = set[str]().union(*(stack.overlays for stack in context.knowledge.stacks))
    projects = {name.partition("@")[0] for name in overlays}
    wheels: dict[str, str] = {}
    for one in installed.load(installed.places(context.system.path))[0]:
        if one["upstream"]["project"] in projects:
            # A site's overlay on top of one of ours counts as that.
            named = (one["overlay"]["name"], *one["overlay"]["layers"])
            wheels[one["distribution"]["name"]] = next((name for name in named if name in overlays), named[0])
    fitting = [stack for stack in context.knowledge.stacks if wheels and set(wheels.values()) <= set(stack.overlays)]
    fitting.sort(key=lambda stack: (not stack.default, stack.record, -score(context, stack)))
    return StackChoice(wheels=wheels, stacks=fitting)


def mismatch(choice: StackChoice, knowledge: Knowledge) -> Iterator[Row]:
    """Yield that no stack holds all the wheels, and which stacks there are of each."""
    if not choice.wheels or choice.stacks:
        return
    of_each: dict[str, list[str]] = {}
    for overlay in choice.wheels.values():
        of_each[overlay] = [one.name for one in knowledge.stacks if overlay in one.overlays and not one.record]
    there = "; ".join(f"{overlay}: {', '.join(names) or 'no stack'}" for overlay, names in of_each.items())
    # A wheel of an overlay of one's own may well be right, but nothing is known to hold it against.
    level: Level = "broken" if all(of_each.values()) else "compatible"
    yield Row(
        component="stack of the patched wheels",
        level=level,
        found=" with ".join(f"{name} ({overlay})" for name, overlay in choice.wheels.items()),
        expected="wheels of one stack",
        why="they were not built for each other, so they are held against the published tables only",
        fix=f"install both from one stack ({there}), or name the one that is meant with --stack",
        check="stack.wheels",
    )


def score(context: Context, stack: Stack) -> int:
    """Return how many versions of a stack are installed."""
    count = 0
    for pin in stack.components:
        found = context.version(pin.name) if pin.version else ""
        count += bool(found) and versions.same(pin.version, versions.public(found))
    return count


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
    # The path is that of a Python started here, which this one may be kept from.
    path, answers = launch.ask(name.partition(".")[0] for name in knowledge.settings["packages"])()
    entries = [entry or "." for entry in (*path, *sys.path) if isinstance(entry, str)]
    system = System(
        path=tuple(dict.fromkeys(map(files.absolute, entries))),
        found={name: places[0] for name, (places, _, _) in answers.items() if len(places) == 1},
        untold=next((problem for _, _, problem in answers.values() if problem), ""),
    )
    return examine(
        Context(system=system, knowledge=knowledge, stack=chosen, deterministic=deterministic, imports=imports)
    )
