"""The report of a cluster run: what the nodes answered → a table, JSON and the exit code."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from npu_doctor.cluster import facts
from npu_summary.reports import Report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = 1
_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Node:
    """One node.

    Args:
        name: its host name.
        address: its address.
        identity: Ray's id of it.
        verify: its report, with the exit code as ``exit``; None where it gave none.
        doctor: likewise, where that was asked for.
        problem: why an answer is missing.
        npus: how many NPUs Ray says the node has; None where it was not asked.
    """

    name: str
    address: str
    identity: str
    verify: dict[str, Any] | None = None
    doctor: dict[str, Any] | None = None
    problem: str = ""
    npus: float | None = None

    @property
    def state(self) -> str:
        """``intact``, ``damaged``, ``unknown``, or ``no answer``."""
        return str(self.verify["status"]) if self.verify else "no answer"

    @property
    def fingerprint(self) -> str:
        """Equal for nodes on which the same is installed and the same is wrong, wherever it lies."""
        if self.verify is None:
            return ""
        found = [_without_roots(line, self.verify) for line in self.differences()]
        built = [(one["name"], one["version"], one["manifest"]) for one in self.verify["distributions"]]
        return json.dumps([built, sorted(found)])

    def versions(self) -> dict[str, str]:
        """Return the version of each patched distribution."""
        return {one["name"]: one["version"] for one in (self.verify or {}).get("distributions", ())}

    def differences(self) -> Iterator[str]:
        """Yield what is wrong with it, a line each."""
        for one in (self.verify or {}).get("findings", ()):
            if one["level"] != "note":
                paths = one["paths"]
                more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
                yield f"{one['kind']}: {one['what']}{': ' if paths else ''}{', '.join(paths[:_SHOWN])}{more}"
        yield from (self.verify or {}).get("problems", ())
        for one in (self.doctor or {}).get("rows", ()):
            if one["level"] in ("broken", "unknown"):
                yield f"doctor: {one['level']}: {one['component']}: {one['found']}"
        yield from facts.devices(self.doctor, self.npus)


@dataclass(frozen=True, kw_only=True)
class Cluster(Report):
    """The outcome of one cluster run.

    Args:
        nodes: every node Ray knows.
        problems: why no node could be asked.
    """

    nodes: tuple[Node, ...]
    problems: tuple[str, ...] = ()

    @property
    def groups(self) -> list[list[Node]]:
        """The nodes that answered, those alike together: most nodes first, intact ones before others."""
        groups: dict[str, list[Node]] = {}
        for node in self.nodes:
            if node.verify is not None:
                groups.setdefault(node.fingerprint, []).append(node)
        return sorted(groups.values(), key=lambda group: (-len(group), group[0].state != "intact"))

    @property
    def disagreements(self) -> list[str]:
        """What the doctor read on the nodes and should be the same on all of them, a line each."""
        return list(facts.disagreements([(_label(node), node.doctor) for node in self.nodes]))

    @property
    def exit_code(self) -> int:
        """0 all nodes are intact and alike, 1 some are not, 2 some did not answer or could not tell."""
        answers = [report for node in self.nodes for report in (node.verify, node.doctor) if report is not None]
        unoffered = any(line for node in self.nodes for line in facts.devices(node.doctor, node.npus))
        differ = len(self.groups) > 1 or bool(self.disagreements)
        if differ or unoffered or any(report["exit"] == 1 for report in answers):
            return 1
        untold = any(report["exit"] != 0 for report in answers) or any(node.problem for node in self.nodes)
        return 2 if untold or self.problems or not self.nodes else 0

    def value(self) -> dict[str, Any]:
        """Return what `to_json` renders."""
        groups = [[node.identity for node in group] for group in self.groups]
        nodes = [{"state": node.state, **asdict(node)} for node in self.nodes]
        return {
            "schema": SCHEMA,
            "exit_code": self.exit_code,
            "nodes": nodes,
            "agreeing": groups,
            "differing": self.disagreements,
            "problems": list(self.problems),
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines for people."""
        yield from _table(self.nodes)
        groups = self.groups
        for node in (node for group in groups[1:] for node in group):
            yield f"{_label(node)} differs from the {len(groups[0])} that agree:"
            yield from _comparison_lines(node, groups[0][0])
        if groups and any(groups[0][0].differences()):
            intact = groups[0][0].state == "intact"
            yield f"the {len(groups[0])} that agree {'all have this' if intact else 'are not intact'}:"
            yield from _difference_lines(groups[0][0])
        yield from self.disagreements
        for node in self.nodes:
            if node.problem:
                yield f"{_label(node)}: {node.problem}"
        yield from (f"error: {problem}" for problem in self.problems)
        if not self.nodes:
            return
        silent = sum(node.verify is None for node in self.nodes)
        agree = len(groups[0]) if groups else 0
        differ = len(self.nodes) - silent - agree
        yield f"{len(self.nodes)} nodes: {agree} agree, {differ} differ, {silent} did not answer"


def _table(nodes: tuple[Node, ...]) -> Iterator[str]:
    names = sorted({name for node in nodes for name in node.versions()}, reverse=True)
    rows = [["node", "address", *names, "state"]]
    rows += [
        [node.name, node.address, *(node.versions().get(name, "-") for name in names), node.state] for node in nodes
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows if nodes else ():
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _comparison_lines(node: Node, usual: Node) -> Iterator[str]:
    ours, theirs = node.versions(), usual.versions()
    for name in sorted({*ours, *theirs}):
        if ours.get(name) != theirs.get(name):
            yield f"  {name} is {ours.get(name, 'not installed')}, there {theirs.get(name, 'not installed')}"
    said = list(_difference_lines(node))
    yield from said
    if not said and ours == theirs:
        yield "  the same versions, from different builds"


def _difference_lines(node: Node) -> Iterator[str]:
    yield from (f"  {line}" for line in node.differences())
    yield from (f"  repair: {command}" for command in (node.verify or {}).get("repairs", ()))


def _label(node: Node) -> str:
    return f"{node.name} ({node.address})"


def _without_roots(text: str, report: dict[str, Any]) -> str:
    for one in report["distributions"]:
        text = text.replace(one["root"], "")
    return text
