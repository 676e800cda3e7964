"""Ranks: a script in, what each of two ranks of it wrote out.

Run as a program, this starts the ranks with what torchrun tells its own. They are forks of a process that has
imported what every rank imports: that takes each of them a minute on a slow machine.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

RANKS = 2
# What verl imports besides itself and transformers, which ask for an NPU when they are imported; not all pins have all.
_COMMON = ("torch", "datasets", "hydra", "pandas", "ray", "tensordict", "torchdata.stateful_dataloader")


@dataclass(frozen=True, kw_only=True)
class Written:
    """What one rank wrote, to files of its own: in one pipe, lines of two ranks run into each other."""

    out: str
    err: str


def run(
    script: Path, *arguments: str, folder: Path, imports: Iterable[str] = (), packages: str = "", npu: bool = False
) -> list[Written]:
    """Run two ranks and return what each wrote; fails where one of them does.

    Args:
        script: path of a script.
        arguments: its arguments.
        folder: where it runs.
        imports: modules that the ranks find imported, in this order, beside what every script imports.
        packages: folder with upstream's packages, to run it with those.
        npu: whether scripts that import `conftest` have the emulated NPU.
    """
    logs = Path(tempfile.mkdtemp(dir=folder))
    command = [sys.executable, __file__, str(logs), ",".join(imports), str(script), *arguments]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "EMULATED_NPU": str(int(npu))}
    variables |= {"PYTHONPATH": packages} if packages else {}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    found = [Written(out=_read(logs, rank, "out"), err=_read(logs, rank, "err")) for rank in range(RANKS)]
    tails = "\n".join(f"{one.out[-2000:]}{one.err[-4000:]}" for one in found)
    assert done.returncode == 0, f"{tails}\n{done.stderr[-2000:]}"
    return found


def _read(logs: Path, rank: int, stream: str) -> str:
    file = logs / f"{rank}.{stream}"
    # None where it failed before there was a rank.
    return file.read_text("utf-8", "replace") if file.exists() else ""


def _start(logs: Path, imports: Iterable[str], command: list[str]) -> int:
    """Start the ranks and wait for them; returns the exit code of the first that failed, or 0."""
    common = [name for name in _COMMON if importlib.util.find_spec(name.partition(".")[0])]
    for name in (*common, *imports):
        importlib.import_module(name)
    from torch.distributed import TCPStore  # noqa: PLC0415  # a second, for the ranks alone

    # Trainers collect garbage when they begin: what is imported need not be looked through by each rank.
    gc.freeze()
    pipes = [os.pipe() for _ in range(RANKS)]
    running = {_fork(rank, pipes[rank][0], logs, command) for rank in range(RANKS)}
    # Only now, since a fork has none of the threads that serve it.
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    for _, write in pipes:
        os.write(write, f"{store.port}\n".encode())
    while running:
        process, status = os.wait()
        running.remove(process)
        if code := os.waitstatus_to_exitcode(status):
            # No rank answers the others any more.
            for other in running:
                os.kill(other, signal.SIGKILL)
            return abs(code)
    return 0


def _fork(rank: int, pipe: int, logs: Path, command: list[str]) -> int:
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        for stream, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(logs / f"{rank}.{name}", os.O_WRONLY | os.O_CREAT), stream)
        world = {"WORLD_SIZE": RANKS, "LOCAL_WORLD_SIZE": RANKS, "RANK": rank, "LOCAL_RANK": rank, "GROUP_RANK": 0}
        os.environ.update({name: str(value) for name, value in world.items()})
        port = os.read(pipe, 16).decode().strip()
        # As torchrun says that the ranks meet at a store that is there already.
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, TORCHELASTIC_USE_AGENT_STORE="True")
        sys.argv[:] = command
        runpy.run_path(command[0], run_name="__main__")
        code = 0
    except BaseException:  # whatever it is, a fork must not go on with what its parent was about to do
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(_start(Path(sys.argv[1]), filter(None, sys.argv[2].split(",")), sys.argv[3:]))
