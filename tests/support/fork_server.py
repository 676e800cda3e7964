"""The program behind `forks`: requests, a line of JSON each → npu-overlays run in a fork, its exit code on a line."""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import multiprocessing
import os
import sys
from typing import Any

from npu_overlays.commands.parser import parser
from npu_overlays.pipeline import build_version

# What commands import when they run, some of it only where it is needed.
_IMPORTED = (
    "npu_overlays.commands.invocation",
    "npu_overlays.wheels.batch_build",
    "npu_overlays.wheels.inspection",
    "npu_overlays.wheels.output_check",
    "npu_overlays.wheels.hatchling_archives",
    "build.env",
    "httpx2",
    "pyproject_hooks",
    "unearth.auth",
    "unearth.fetchers",
)


def main() -> int:
    """Serve requests until there are no more, each in a fork.

    A fork of multiprocessing ends without freeing what it shares with this process, and so without copying it before,
    which took it longer than many a command.
    """
    for name in _IMPORTED:
        importlib.import_module(name)
    parser()  # which imports every command
    # It is kept, and of the same files in each fork.
    build_version._tool_digest()
    # Looking through all of that for what can be freed takes each fork longer than most commands do.
    gc.freeze()
    context = multiprocessing.get_context("fork")
    for line in sys.stdin:
        forked = context.Process(target=_run, args=(json.loads(line),))
        forked.start()
        forked.join()
        print(forked.exitcode, flush=True)  # noqa: T201  # this is the answer
    return 0


def _run(request: dict[str, Any]) -> None:
    """Become a process as `subprocess.run` would have started it, and run the command."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    files = [os.open(os.devnull, os.O_RDONLY), *(os.open(name, flags, 0o600) for name in request["outputs"])]
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, encoding=sys.stdin.encoding)  # noqa: SIM115  # a descriptor
    sys.stdout = open(1, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)  # noqa: SIM115  # as above
    sys.stderr = open(  # noqa: SIM115  # as above
        2, "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1
    )
    os.environ.clear()
    os.environ.update(request["variables"])
    os.chdir(request["cwd"])
    sys.path[0] = request["cwd"]
    sys.argv = ["npu-overlays", *request["arguments"]]
    try:
        sys.exit(importlib.import_module("npu_overlays.cli").main())
    finally:
        atexit._run_exitfuncs()


if __name__ == "__main__":
    sys.exit(main())
