"""Nodes: the address of a Ray cluster → what commands answer on each of its nodes."""

# Ray carries no usable types, and is imported only where a cluster is asked.
# ruff: noqa: PLC0415

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import sys
import threading
import time
from dataclasses import replace
from typing import Any

from npu_doctor.cluster.report import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_UNKNOWN = 2
_CONNECT = 5.0
_MARGIN = 30.0  # to connect and to take leave
_FETCH = 10.0


class Unreachable(Exception):  # noqa: N818  # a state of the cluster; the message says what to do
    """There is no Ray here, or no cluster at that address."""


def ask(address: str, commands: Mapping[str, Sequence[str]], *, seconds: float) -> list[Node]:
    """Run ``python -m`` commands on every node and return every node, those that do not answer too.

    Args:
        address: ``auto``, ``host:port`` or ``ray://host:port``.
        commands: by name, the module and its arguments; each prints JSON.
        seconds: how long to wait for all nodes together.

    Raises:
        Unreachable: no cluster can be reached.
    """
    found: list[list[Node] | Unreachable] = []

    def run() -> None:
        try:
            found.append(_ask(address, commands, seconds=seconds))
        except Unreachable as error:
            found.append(error)
        except Exception as error:  # Ray has a dozen unrelated types for a cluster that goes away
            found.append(Unreachable(f"Ray gave up on {address}: {_reason(error)}"))

    # Ray itself waits for minutes, or for ever, for a cluster that does not answer as it should.
    thread = threading.Thread(target=run, daemon=True)
    # What Ray prints of nodes that go away is no part of the report.
    with contextlib.redirect_stdout(sys.stderr):
        thread.start()
        thread.join(seconds + _MARGIN)
    if not found:
        atexit.register(os._exit, _UNKNOWN)  # before Ray's own handler, which would wait again
        raise Unreachable(f"the Ray cluster at {address} does not answer within {seconds + _MARGIN:g} s")
    if isinstance(found[0], Unreachable):
        raise found[0]
    return found[0]


def _ask(address: str, commands: Mapping[str, Sequence[str]], *, seconds: float) -> list[Node]:
    deadline = time.monotonic() + seconds
    ray = _connect(address)
    try:
        listed = ray.nodes()
        alive = [one for one in listed if one["Alive"]]
        tasks = {_submit(ray, one["NodeID"], commands, seconds): one for one in alive}
        ready, _ = ray.wait(list(tasks), num_returns=len(tasks), timeout=max(0.1, deadline - time.monotonic()))
        answers = [_answer(ray, task, tasks[task], answered=task in ready, seconds=seconds) for task in tasks]
        return [*answers, *_dead_nodes(listed, {one["NodeManagerAddress"] for one in alive})]
    finally:
        ray.shutdown()


def _connect(address: str) -> Any:  # the ray module
    try:
        import ray
    except ImportError as error:
        raise Unreachable(f"Ray cannot be imported here ({error}); run this on a node of the cluster") from error
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if host and port.isdigit():
            # Ray itself would try for minutes.
            socket.create_connection((host, int(port)), timeout=_CONNECT).close()
        ray.init(address=address, logging_level="ERROR", log_to_driver=False, configure_logging=False)
    except (OSError, RuntimeError, ValueError) as error:
        raise Unreachable(
            f"no Ray cluster at {address}: {_reason(error)}; give the address: --ray HOST:PORT"
        ) from error
    return ray


def _reason(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _submit(ray: Any, node: str, commands: Mapping[str, Sequence[str]], seconds: float) -> Any:
    """Start the task on a node and nowhere else; it needs no resource, so a busy node answers too."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # Defined here, and importing by itself, so that it travels to nodes that lack this package.
    def probe(wanted: Mapping[str, Sequence[str]], patience: float) -> dict[str, tuple[int, str, str]]:
        import os
        import subprocess
        import sys
        import tempfile

        def run(*arguments: str) -> tuple[int, str, str]:
            # Where the node was started nothing is taken for a module: neither its folder nor, with -I, PYTHONPATH's.
            # The path that is searched is this worker's, with what Ray added to it for the job.
            env = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if isinstance(entry, str))}
            with tempfile.TemporaryDirectory() as empty:
                command = [sys.executable, *arguments]
                done = subprocess.run(command, cwd=empty, env=env, capture_output=True, timeout=patience, check=False)
            out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
            return done.returncode, out, err[-2000:]

        answers = {}
        for name, arguments in wanted.items():
            try:
                answers[name] = run("-I", "-m", *arguments)
                if f"No module named {arguments[0]}" in answers[name][2]:  # it lies in PYTHONPATH or the user's site
                    answers[name] = run("-m", *arguments)
            except subprocess.TimeoutExpired:
                answers[name] = (2, "", f"{name} did not end within {patience:g} s")
        return answers

    strategy = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
    remote = ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=strategy)(probe)
    return remote.remote({name: list(arguments) for name, arguments in commands.items()}, seconds)


def _answer(ray: Any, task: Any, node: Mapping[str, Any], *, answered: bool, seconds: float) -> Node:
    listed = _listed(node)
    if not answered:
        ray.cancel(task, force=True)
        return replace(listed, problem=f"no answer within {seconds:g} s")
    try:
        answers = ray.get(task, timeout=_FETCH)
    except Exception as error:  # Ray has a dozen unrelated types for a node that goes away
        return replace(listed, problem=f"{type(error).__name__}: {_last_line(str(error))}")
    reports: dict[str, Any] = {}
    problems = []
    for asked, (code, out, err) in answers.items():
        try:
            reports[asked] = {**json.loads(out), "exit": code}
        except ValueError:
            problems.append(_last_line(err) or f"{asked} ended with exit code {code}")
    return replace(
        listed,
        verify=reports.get("verify"),
        doctor=reports.get("doctor"),
        problem="; ".join(problems),
        npus=node.get("Resources", {}).get("NPU", 0.0),
    )


def _listed(node: Mapping[str, Any]) -> Node:
    """Return a node that Ray lists, without its answers."""
    name, address = str(node["NodeManagerHostname"]), str(node["NodeManagerAddress"])
    return Node(name=name, address=address, identity=str(node["NodeID"]))


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def _dead_nodes(listed: Sequence[Mapping[str, Any]], answering: set[str]) -> Iterator[Node]:
    """Yield nodes that Ray calls dead, unless a new one has taken the same address since."""
    for one in listed:
        if not one["Alive"] and one["NodeManagerAddress"] not in answering:
            reason = f"dead: {one.get('DeathReasonMessage') or 'Ray has lost it'}".splitlines()[0]
            yield replace(_listed(one), problem=reason)
