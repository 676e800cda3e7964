"""The report of a cluster run: what the nodes answered → a table, JSON and the exit code."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import chain
from operator import attrgetter
from typing import Any

from npu_summary.reports import Report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Doctor = dict[str, Any] | None


SCHEMA = 1
_SHOWN = 5

# Facts that may well differ from machine to machine.
_OWN = {"cpus", "cann_home"}
_CONSEQUENCES = {"cann_runtime": " (HCCL refuses that: EI0008, CANN versions are inconsistent)"}


@dataclass(frozen=True, kw_only=True)
class Node:
    """One node."""

    name: str  # its host name
    address: str  # its address
    identity: str  # Ray's id of it
    verify: dict[str, Any] | None = None  # its report, with the exit code as ``exit``; None where it gave none
    doctor: dict[str, Any] | None = None  # likewise, where that was asked for
    problem: str = ""  # why an answer is missing
    npus: float | None = None  # how many NPUs Ray says the node has; None where it was not asked

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
        if lacking := self.missing_devices:
            yield f"doctor: broken: {lacking}: source set_env.sh in the shell before `ray start`"

    @property
    def missing_devices(self) -> str:
        """How many NPUs Ray offers of how many; empty where it offers all, or either number is not known."""
        chips = list(filter(None, (self.doctor or {}).get("facts", {}).get("chips", "").split(", ")))
        if self.npus is None or self.npus >= len(chips):
            return ""
        return f"Ray offers {self.npus:g} NPUs, npu-smi shows {len(chips)}"


@dataclass(frozen=True, kw_only=True)
class Cluster(Report):
    """The outcome of one cluster run."""

    nodes: tuple[Node, ...]  # every node Ray knows
    problems: tuple[str, ...] = ()  # why no node could be asked

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
        """The facts that nodes disagree on, a line each; a node without a fact, as a head without NPUs, agrees."""
        nodes: dict[str, dict[str, list[str]]] = {}
        for node in self.nodes:
            for name, value in _facts(node.doctor).items():
                nodes.setdefault(name, {}).setdefault(value, []).append(_label(node))
        found = []
        for name, by_value in sorted(nodes.items()):
            if len(by_value) > 1:
                values = "; ".join(f"{value} on {', '.join(labels)}" for value, labels in by_value.items())
                found.append(f"{name} differs: {values}{_CONSEQUENCES.get(name, '')}")
        return found

    @property
    def exit_code(self) -> int:
        """0 all nodes are intact and alike, 1 some are not, 2 some did not answer or could not tell."""
        codes: set[int] = set()
        for node in self.nodes:
            codes.update(report["exit"] for report in (node.verify, node.doctor) if report is not None)
            if node.missing_devices:
                codes.add(1)
            if node.problem:
                codes.add(2)
        if 1 in codes or len(self.groups) > 1 or self.disagreements:
            return 1
        return 2 if any(codes) or self.problems or not self.nodes else 0

    def value(self) -> dict[str, Any]:
        """Return what `to_json` renders."""
        groups = [list(map(attrgetter("identity"), group)) for group in self.groups]
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
        for node in chain.from_iterable(groups[1:]):
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
        for problem in self.problems:
            yield f"error: {problem}"
        if not self.nodes:
            return
        silent = sum(node.verify is None for node in self.nodes)
        agree = len(groups[0]) if groups else 0
        differ = len(self.nodes) - silent - agree
        yield f"{len(self.nodes)} nodes: {agree} agree, {differ} differ, {silent} did not answer"


def _table(nodes: tuple[Node, ...]) -> Iterator[str]:
    if not nodes:
        return
    names = sorted(set[str]().union(*map(Node.versions, nodes)), reverse=True)
    rows = [["node", "address", *names, "state"]]
    for node in nodes:
        versions = node.versions()
        rows.append([node.name, node.address, *(versions.get(name, "-") for name in names), node.state])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()


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
    for line in node.differences():
        yield f"  {line}"
    for command in (node.verify or {}).get("repairs", ()):
        yield f"  repair: {command}"


def _label(node: Node) -> str:
    return f"{node.name} ({node.address})"


def _without_roots(text: str, report: dict[str, Any]) -> str:
    for one in report["distributions"]:
        text = text.replace(one["root"], "")
    return text


def _facts(doctor: Doctor) -> dict[str, str]:
    """Return versions and machine data by name, and each package with its commit and the digest of its files."""
    report = doctor or {}
    found = {name: value for name, value in report.get("facts", {}).items() if name not in _OWN}
    for one in report.get("packages", ()):
        commit, digest = one["commit"][:12], one["sha256"][:16]
        parts = [one["version"], f"at {commit}" if commit else "", f"(sha256 {digest})" if digest else ""]
        found[one["package"]] = " ".join(filter(None, parts))
    return {name: value for name, value in found.items() if value}
