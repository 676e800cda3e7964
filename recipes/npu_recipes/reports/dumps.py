"""Dumps compared: a finding → lines for a terminal, or data for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from npu_recipes.console import Console
from npu_recipes.dumps.fault import First, FoundFault, package_of, why
from npu_recipes.dumps.match import Matched
from npu_recipes.errors import listed

SCHEMA = 1
_SHOWN = 12
_HEADINGS = ("module", "call", "outputs", "error", "tolerance", "inputs")


def report(finding: FoundFault, console: Console, *, everything: bool) -> None:
    """Print a finding; `everything` is whether modules that agree are listed too."""
    for note in finding.notes:
        console.line(note)
    matched = finding.matching.matched
    diverging = [one for one in matched if not one.agrees]
    shown = list(matched) if everything else diverging[:_SHOWN]
    if shown:
        console.line()
        styles = ["" if one.agrees else "red" for one in shown]
        console.table(_HEADINGS, map(_row, shown), styles)
        if hidden := 0 if everything else len(diverging) - len(shown):
            console.line(f"{hidden} more modules diverge after these: --all lists them", style="dim")
    _one_sided("reference", finding.matching.only_reference, console)
    _one_sided("run", finding.matching.only_run, console)
    console.line()
    if finding.first is None:
        compared = sum(one.compared for one in matched)
        rest = f"; {len(matched) - compared} gave no tensor" if compared < len(matched) else ""
        console.line(f"all {compared} passages agree{rest}", style="bold green")
    else:
        _first(finding.first, console)


def _row(one: Matched) -> Sequence[str]:
    tolerance = max((output.tolerance for output in one.outputs), default=0.0)
    error = "-" if one.error is None else f"{one.error:.3g}"
    return (
        _named(one.passage.module),
        f"{one.passage.call}.{one.passage.time}",
        ("agree" if one.agrees else "diverge") if one.compared else "no tensor",
        error,
        f"{tolerance:.3g}",
        {True: "agree", False: "diverge", None: "differ in names"}[one.fed_alike],
    )


def _first(first: First, console: Console) -> None:
    module = first.matched.passage.module or "the model itself"
    console.line(f"first to diverge: {module} ({first.kind})", style="bold red")
    for output in first.matched.outputs:
        if output.kind != "within":
            console.line(f"    output {output.name}: {why(output)}")
    if first.before:
        console.line(f"    the last before it that agrees: {first.before}")
    console.line(f"    {_suspected(first)}")
    for line in _overlay(first):
        console.line(f"    {line}")


def _suspected(first: First) -> str:
    if not first.matched.told:
        return "its inputs have other names on each side: look at its own forward, and at what it is given"
    if first.matched.fed_alike is None:
        return f"look at its own forward, and at what it is given: {', '.join(first.matched.unpaired)}"
    if first.suspect == first.matched.passage.module:
        return "its inputs agree: look at its own forward and the functions that it calls"
    kind = next(iter(first.suspect_kinds), "")
    suspect = first.suspect or "the model itself"
    return f"its inputs differ already: look at what {suspect} ({kind}) computes before it"


def _overlay(first: First) -> list[str]:
    """Return lines on what patched wheels changed in the class at fault, and beside it."""
    if not first.covered:
        package = package_of(first.suspect_kinds)
        return [f"whether an overlay changed it is not known: no patched wheel of {package} here; --wheel names one"]
    own, beside = [], []
    for one in first.changed:
        if one.own:
            own.append(f"changed by {one.distribution}: {one.symbol} {one.action}. {one.why}".rstrip())
        else:
            beside.append(f"beside it, {one.distribution} has {one.action} {one.symbol}. {one.why}")
    return [*(own or ["no overlay changed this class"]), *beside]


def _one_sided(side: str, modules: Sequence[str], console: Console) -> None:
    if modules:
        console.line(f"only the {side} ran: {listed(list(map(_named, modules)), _SHOWN)}", style="dim")


def _named(module: str) -> str:
    return module or "(the model)"


def as_data(finding: FoundFault, *, everything: bool) -> dict[str, Any]:
    """Return a finding as JSON holds it."""
    matched = finding.matching.matched
    return {
        "schema": SCHEMA,
        "verdict": "agree" if finding.first is None else "diverge",
        "notes": list(finding.notes),
        "wheels": finding.wheels,
        "first": finding.first and _first_as_data(finding.first),
        "modules": [_matched(one) for one in matched if everything or not one.agrees],
        "only_reference": list(finding.matching.only_reference),
        "only_run": list(finding.matching.only_run),
    }


def _first_as_data(first: First) -> dict[str, Any]:
    return {
        "module": first.matched.passage.module,
        "class": first.kind,
        "inputs_agree": first.matched.fed_alike,
        "last_that_agrees": first.before,
        "suspect": first.suspect,
        "suspect_classes": list(first.suspect_kinds),
        "wheel_known": first.covered,
        "changed": list(map(asdict, first.changed)),
    }


def _matched(one: Matched) -> dict[str, Any]:
    return {
        "module": one.passage.module,
        "call": one.passage.call,
        "time": one.passage.time,
        "agrees": one.agrees,
        "inputs": list(map(asdict, one.inputs)),
        "outputs": list(map(asdict, one.outputs)),
    }
