"""Together: a function and what it is to be called with → what it gives for each, found by several processes at once.

Processes, not threads: merging is Python's own work, of which it does one piece at a time. They are of a session of
their own, so that an interrupt of a terminal meets the process that started them alone, which then ends them.
"""

from __future__ import annotations

import gc
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Generic, TypeVar

from npu_overlays.crew.worker import END, Crash, Word
from npu_overlays.progress import step

_PATIENCE = 10
# The path first: what lies in the current folder must not be taken for a package of ours.
_CODE = "import sys; sys.path[:] = {path!r}; from npu_overlays.crew.worker import main; sys.exit(main({fd}, {often}))"
TaskT = TypeVar("TaskT")


class _Traceback(Exception):  # noqa: N818  # shown as the cause of an error: where a worker raised that
    pass


@dataclass(frozen=True, kw_only=True)
class Died:
    """That a process ended in the middle of a task, which nobody asked it to.

    Args:
        how: the name of a signal, or its exit code.
    """

    how: str


@dataclass(frozen=True, kw_only=True)
class Work(Generic[TaskT]):
    """What is to be done.

    Args:
        do: is called with each task, in another process: a function of a module.
        tasks: each is asked for when a process is free for it.
        number: how many there are.
        jobs: how many at once.
    """

    do: Callable[[TaskT], Any]
    tasks: Iterator[TaskT]
    number: int
    jobs: int


def together(work: Work[TaskT], take: Callable[[TaskT, Any], None]) -> None:
    """Do tasks, several at once.

    Args:
        work: what is to be done.
        take: is called with each task, and what came of it or `Died`, as soon as that is known.

    Raises:
        Exception: what a task raised; the others are ended then, as they are by an interrupt.
    """
    done = 0
    with _Crew[TaskT]() as crew:
        while done < work.number:
            while len(crew.doing) < work.jobs and (task := next(work.tasks, None)) is not None:
                crew.take(work.do, task)
            for done_task, result in crew.hear(f"{done} of {work.number} done"):
                take(done_task, result)
                done += 1


class _Crew(Generic[TaskT]):
    """Processes, those that do something among them; one is started when there is work for it and none is free."""

    def __init__(self) -> None:
        self.doing: dict[_Worker, TaskT] = {}
        self._free: list[_Worker] = []

    def __enter__(self) -> _Crew[TaskT]:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """End all of them: at once where the work is given up; else they are idle."""
        workers = [*self._free, *self.doing]
        for worker in workers:
            worker.dismiss(at_once=kind is not None)
        for worker in workers:
            worker.wait()

    def take(self, do: Callable[[TaskT], Any], task: TaskT) -> None:
        """Hand a task to a process."""
        worker = self._free.pop() if self._free else _Worker()
        self.doing[worker] = task
        worker.take(pickle.dumps((do, task)))

    def hear(self, state: str) -> Iterator[tuple[TaskT, Any]]:
        """Wait until one of them says something, pass its steps on, and yield the tasks that are done.

        Args:
            state: of the whole, for who watches.
        """
        ready = wait([worker.connection for worker in self.doing])
        for worker in [one for one in self.doing if one.connection in ready]:
            try:
                word = worker.connection.recv()
            except (EOFError, OSError):
                task = self.doing.pop(worker)
                yield task, Died(how=_ended(worker.wait()))
                continue
            if word[0] == "step":
                step(f"{state}; {word[1]}")
            elif isinstance(word[1], Crash):
                raise word[1].error from _Traceback(word[1].traceback)
            else:
                self._free.append(worker)
                yield self.doing.pop(worker), word[1]


class _Worker:
    """A process that does what it is handed."""

    def __init__(self) -> None:
        ours, theirs = Pipe()
        self.connection: Connection[bytes, Word] = ours
        code = _CODE.format(path=sys.path, fd=theirs.fileno(), often=gc.get_threshold()[0])
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()

    def take(self, task: bytes) -> None:
        """Hand it a task; that it is gone is found out when it is listened to."""
        with suppress(BrokenPipeError):
            self.connection.send_bytes(task)

    def dismiss(self, *, at_once: bool) -> None:
        """Tell it that nothing more comes, or to end in the middle of what it does."""
        with suppress(BrokenPipeError):
            self.connection.send_bytes(END)
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


def _ended(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
