"""Forks: command lines of npu-overlays → what each did, run by forks of a process that has imported the tool already.

To start Python and import the tool takes most of the time of most tests that run it. A fork has arguments, variables,
folder, output and exit of its own as any process has; what it does not show is the start itself. So whatever has a
say in that gets a whole process, and so does everything where coverage is measured: of forks coverage tells nothing.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

# What Python reads when it starts.
_OF_THE_START = ("PYTHON", "LC_", "LANG", "COVERAGE_")
_LOCK = threading.Lock()


def forkable(variables: Mapping[str, str]) -> bool:
    """Return whether a process with these variables starts as one of the tests does."""
    relevant = {name: value for name, value in variables.items() if name.startswith(_OF_THE_START)}
    return relevant == {name: os.environ.get(name) for name in relevant} and not any(
        name.startswith("COVERAGE_") for name in relevant
    )


def run(arguments: Sequence[str], *, cwd: Path, variables: Mapping[str, str]) -> tuple[int, bytes, bytes]:
    """Run ``npu-overlays`` and return its exit code, negative for a signal, and what it wrote to both outputs."""
    with tempfile.TemporaryDirectory(prefix="forked-") as folder:
        outputs = [Path(folder, "out"), Path(folder, "err")]
        request = {
            "arguments": list(arguments),
            "cwd": str(cwd),
            "variables": dict(variables),
            "outputs": list(map(str, outputs)),
        }
        code = _ask(json.dumps(request))
        return code, outputs[0].read_bytes(), outputs[1].read_bytes()


def _ask(request: str) -> int:
    with _LOCK:
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(f"{request}\n")
        server.stdin.flush()
        answer = server.stdout.readline()
    assert answer, "the process that forks has ended"
    return int(answer)


@cache
def _server() -> subprocess.Popen[str]:
    """Return the process that forks; it ends when its standard input does."""
    program = Path(__file__).with_name("fork_server.py")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHONPATH")}
    server = subprocess.Popen(
        [sys.executable, program], env=kept, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.communicate)
    return server
