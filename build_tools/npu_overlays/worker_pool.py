"""Worker pool: a function and tasks → what the function gives for each, found by several processes at once.

Processes, not threads: merging is Python code, which runs on one thread at a time. `concurrent.futures` is not enough:
there one process that dies fails all tasks, and nothing shows which task killed it; here it fails its own, and the
others continue. They are in a session of their own, so that an interrupt of a terminal reaches only the process that
started them, which then ends them. A worker ends as soon as that process is gone, however it ended.
"""

from __future__ import annotations

import atexit
import gc
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from npu_overlays.interrupts import Interrupted, interruptible, undisguised
from npu_overlays.progress import step, told_to

_PATIENCE = 10
# The path first: what lies in the current folder must not be taken for a package of ours.
_CODE = "import sys; sys.path[:] = {path!r}; from npu_overlays.worker_pool import main; sys.exit(main({fd}, {often}))"
# A worker is sent this when nothing more comes; else a function and its argument, pickled.
_END = b"."
# A worker sends a step it takes, or the result of its task.
_Message: TypeAlias = tuple[Literal["step"], str] | tuple[Literal["done"], Any]
TaskT = TypeVar("TaskT")


class _Traceback(Exception):  # noqa: N818  # shown as the cause of an error: where a worker raised that
    pass


@dataclass(frozen=True, kw_only=True)
class _Crash:
    """An error that a task raised."""

    error: Exception
    traceback: str


@dataclass(frozen=True, kw_only=True)
class WorkerDied:
    """The result of a task whose process ended in the middle of it, though nobody asked it to."""

    how: str  # the name of a signal, or the exit code


@dataclass(frozen=True, kw_only=True)
class TaskBatch(Generic[TaskT]):
    """Tasks to run."""

    do: Callable[[TaskT], Any]  # called with each task, in another process: a function of a module
    tasks: Iterator[TaskT]  # each is taken when a process is free for it
    number: int  # how many there are
    jobs: int  # how many run at once


def cores() -> int:
    """Return how many cores this process may use: in a container, those it was given."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def run_tasks(batch: TaskBatch[TaskT], take: Callable[[TaskT, Any], None]) -> None:
    """Run tasks, several at once.

    Args:
        batch: the tasks.
        take: called with each task and its result, or `WorkerDied`, as soon as that is known.

    Raises:
        Exception: the error of a task; the other processes are ended then, as they are by an interrupt.
    """
    done = 0
    with _Pool[TaskT]() as pool:
        while done < batch.number:
            while len(pool.busy) < batch.jobs and (task := next(batch.tasks, None)) is not None:
                pool.assign(batch.do, task)
            for finished, result in pool.results(f"{done} of {batch.number} done"):
                take(finished, result)
                done += 1


class _Pool(Generic[TaskT]):
    """Worker processes; one is started when there is a task and no process is free."""

    def __init__(self) -> None:
        self.busy: dict[_Worker, TaskT] = {}
        self._free: list[_Worker] = []

    def __enter__(self) -> _Pool[TaskT]:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """End all of them: at once after an error; else they are idle."""
        workers = [*self._free, *self.busy]
        for worker in workers:
            worker.dismiss(at_once=kind is not None)
        for worker in workers:
            worker.wait()

    def assign(self, do: Callable[[TaskT], Any], task: TaskT) -> None:
        """Send a task to a process."""
        worker = self._free.pop() if self._free else _Worker()
        self.busy[worker] = task
        worker.send(pickle.dumps((do, task)))

    def results(self, state: str) -> Iterator[tuple[TaskT, Any]]:
        """Wait until a process sends something, pass steps on, and yield the tasks that are done.

        Args:
            state: how far the whole is, for the progress line.
        """
        ready = wait([worker.connection for worker in self.busy])
        for worker in [one for one in self.busy if one.connection in ready]:
            try:
                kind, value = worker.connection.recv()
            except (EOFError, OSError):
                task = self.busy.pop(worker)
                code = worker.wait()
                yield task, WorkerDied(how=signal.Signals(-code).name if code < 0 else f"exit code {code}")
                continue
            if kind == "step":
                step(f"{state}; {value}")
            elif isinstance(value, _Crash):
                raise value.error from _Traceback(value.traceback)
            else:
                self._free.append(worker)
                yield self.busy.pop(worker), value


class _Worker:
    """One worker process, as the process that started it sees it."""

    def __init__(self) -> None:
        ours, theirs = Pipe()
        self.connection: Connection[bytes, _Message] = ours
        code = _CODE.format(path=sys.path, fd=theirs.fileno(), often=gc.get_threshold()[0])
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()

    def send(self, task: bytes) -> None:
        """Send it a task; that it is gone shows when its results are awaited."""
        with suppress(BrokenPipeError):
            self.connection.send_bytes(task)

    def dismiss(self, *, at_once: bool) -> None:
        """Tell it that nothing more comes; `at_once` ends it in the middle of its task."""
        with suppress(BrokenPipeError):
            self.connection.send_bytes(_END)
        if at_once:
            self._process.terminate()

    def wait(self) -> int:
        """Wait for its end, which is not long in coming, and return its exit code."""
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self.connection.close()
        return code


def main(descriptor: int, threshold: int) -> int:
    """Run tasks in a worker process as they come, and send their results; returns the exit code.

    Args:
        descriptor: of the pipe to the process that started this one.
        threshold: how seldom Python looks for reference cycles.
    """
    gc.set_threshold(threshold)
    atexit.register(gc.freeze)  # as in the process that started this
    pool: Connection[_Message, bytes] = Connection(descriptor)
    try:
        with interruptible(), undisguised(), suppress(BrokenPipeError):  # nobody is left to receive results
            tasks = _received(pool)
            while (task := tasks.get()) != _END:
                pool.send(("done", _run(task, pool.send)))
    except Interrupted as error:
        return error.exit_code
    return 0


def _received(pool: Connection[_Message, bytes]) -> queue.SimpleQueue[bytes]:
    """Return a queue of the tasks that come; once nothing can come any more, this process is asked to end."""
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        try:
            while (task := pool.recv_bytes()) != _END:
                tasks.put(task)
            tasks.put(_END)
        except (EOFError, OSError):
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=listen, daemon=True).start()
    return tasks


def _run(task: bytes, send: Callable[[_Message], None]) -> Any:  # any result of the function
    """Return the result of a task, or `_Crash` with an error that survives pickling."""
    try:
        with told_to(lambda message: send(("step", message))):
            do, argument = pickle.loads(task)  # noqa: S301  # from the process that started this one
            return do(argument)
    except Exception as raised:  # the process that started this one reports it
        error, shown = raised, "".join(traceback.format_exception(raised))
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301  # our own, to see whether it gets there
        except Exception:  # a class may raise any error when it is copied
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return _Crash(error=error, traceback=shown)
