"""The cluster run: every node of a Ray cluster verifies itself; one table says which agree and which differ in what.

Data flows ``nodes`` (Ray: one task on every node, never waited for beyond the
time given) -> ``report`` (text, JSON and the exit code). Ray is imported here
and nowhere else.
"""

from __future__ import annotations

from .report import Cluster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..cli import Options


def survey(options: Options, *, package: str) -> Cluster:
    """Ask every node of a running Ray cluster.

    Args:
        options: `ray` is the address, `timeout` the patience; `distribution`, `doctor`, `stack`, `deterministic` and
            `no_import` are handed on to the nodes.
        package: the summary package to run there.

    Returns:
        What each node answered, or why it did not.
    """
    from . import nodes  # noqa: PLC0415 - the report is also made where there is no Ray

    commands = {"verify": [package, "--verify", "--json"]}
    for name in options.distribution or ():
        commands["verify"] += ["--distribution", name]
    if options.doctor:
        commands["doctor"] = [package, "--doctor", "--json"]
        commands["doctor"] += ["--stack", options.stack] if options.stack else []
        commands["doctor"] += ["--deterministic"] if options.deterministic else []
        commands["doctor"] += ["--no-import"] if options.no_import else []
    try:
        return Cluster(nodes=tuple(nodes.ask(options.ray or "auto", commands, seconds=options.timeout)))
    except nodes.Unreachable as error:
        return Cluster(nodes=(), problems=(str(error),))
