"""The cluster run: every node of a Ray cluster verifies itself; one table says which agree and which differ in what.

Data flows ``nodes`` (Ray: one task on every node, never waited for beyond the
time given) -> ``report`` (text, JSON and the exit code). Ray is imported here
and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from npu_doctor.cluster import nodes
from npu_doctor.cluster.report import Cluster
from npu_summary import installed

_USUAL = "verl_npu_summary"


def survey(
    address: str, *, seconds: float, distributions: Iterable[str], doctor: Sequence[str] | None = None
) -> Cluster:
    """Ask every node of a running Ray cluster.

    Args:
        address: the cluster's, ``auto`` for the one this machine belongs to.
        seconds: how long to wait for all nodes.
        distributions: names of patched distributions; none for all.
        doctor: the doctor's options on every node; None where nodes only verify their files.

    Returns:
        What each node answered, or why it did not.
    """
    # Nodes verify themselves with what their wheels bring; any of the summaries tells of all.
    package = next((place.package for place in installed.places()), _USUAL)
    commands = {"verify": [package, "--verify", "--json"]}
    for name in distributions:
        commands["verify"] += ["--distribution", name]
    if doctor is not None:
        commands["doctor"] = ["npu_doctor", "doctor", "--json", *doctor]
    try:
        return Cluster(nodes=tuple(nodes.ask(address, commands, seconds=seconds)))
    except nodes.Unreachable as error:
        return Cluster(nodes=(), problems=(str(error),))
