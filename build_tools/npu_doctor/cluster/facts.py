"""Facts: what the doctor read on each node → what nodes of one cluster should agree on and do not."""

from __future__ import annotations

from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Doctor = dict[str, Any] | None

# Facts that may well differ from machine to machine.
_OWN = {"cpus", "cann_home"}
_CONSEQUENCES = {"cann_runtime": " (HCCL refuses that: EI0008, CANN versions are inconsistent)"}


def disagreements(nodes: Sequence[tuple[str, Doctor]]) -> Iterator[str]:
    """Yield each fact that nodes disagree on; one that a node does not have, as a head without NPUs, is none.

    Args:
        nodes: what each is called, and its doctor's report.
    """
    found = [(called, _facts(doctor)) for called, doctor in nodes]
    for name in sorted({name for _, facts in found for name in facts}):
        values: dict[str, list[str]] = {}
        for called, facts in found:
            if name in facts:
                values.setdefault(facts[name], []).append(called)
        if len(values) > 1:
            told = "; ".join(f"{value} on {', '.join(called)}" for value, called in values.items())
            yield f"{name} differs: {told}{_CONSEQUENCES.get(name, '')}"


def _facts(doctor: Doctor) -> dict[str, str]:
    """Return versions and machine data by name, and each package with its commit and the digest of its files."""
    report = doctor or {}
    found = {name: value for name, value in report.get("facts", {}).items() if name not in _OWN}
    for one in report.get("packages", ()):
        commit, digest = one["commit"][:12], one["sha256"][:16]
        parts = [one["version"], f"at {commit}" if commit else "", f"(sha256 {digest})" if digest else ""]
        found[one["package"]] = " ".join(filter(None, parts))
    return {name: value for name, value in found.items() if value}


def devices(doctor: Doctor, npus: float | None) -> Iterator[str]:
    """Yield whether Ray offers fewer NPUs of a node than there are."""
    chips = [chip for chip in (doctor or {}).get("facts", {}).get("chips", "").split(", ") if chip]
    if npus is not None and npus < len(chips):
        there = f"Ray offers {npus:g} NPUs, npu-smi shows {len(chips)}"
        yield f"doctor: broken: {there}: source set_env.sh in the shell before `ray start`"
