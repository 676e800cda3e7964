"""Crew: tasks → what came of each, done by several processes at once.

Processes, not threads: merging is Python's own work, of which it does one piece at a time. They are of a session of
their own, so that an interrupt of a terminal meets the process that started them alone, which then ends them.
"""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait

from npu_overlays.errors import OverlayError, Problem
from npu_overlays.progress import step
from npu_overlays.wheels.making import Task
from npu_overlays.wheels.results import Failed, Outcome
from npu_overlays.wheels.worker import Crash, Word

_PATIENCE = 10
# The path first: what lies in the current folder must not be taken for a package of ours.
_CODE = "import sys; sys.path[:] = {path!r}; from npu_overlays.wheels.worker import main; sys.exit(main({fd}, {often}))"


class _Traceback(Exception):  # noqa: N818  # shown as the cause of an error: where a worker raised that
    pass


def together(tasks: Iterator[Task], number: int, jobs: int, take: Callable[[Task, Outcome | None], None]) -> None:
    """Do tasks, several at once.

    Args:
        tasks: what is to be done; each is asked for when a process is free for it.
        number: how many there are.
        jobs: how many at once.
        take: is told what came of each as soon as that is known.

    Raises:
        Exception: what no task can fail with of itself; the others are ended then, as they are by an interrupt.
    """
    done = 0
    with _Crew() as crew:
        while done < number:
            while len(crew.doing) < jobs and (task := next(tasks, None)):
                crew.take(task)
            for task, outcome in crew.hear(f"{done} of {number} done"):
                take(task, outcome)
                done += 1


class _Crew:
    """Processes, those that do something among them; one is started when there is work for it and none is free."""

    def __init__(self) -> None:
        self.doing: dict[_Worker, Task] = {}
        self._free: list[_Worker] = []

    def __enter__(self) -> _Crew:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """End all of them: at once where the work is given up; else they are idle."""
        workers = [*self._free, *self.doing]
        for worker in workers:
            worker.dismiss(at_once=kind is not None)
        for worker in workers:
            worker.wait()

    def take(self, task: Task) -> None:
        """Hand a task to a process."""
        worker = self._free.pop() if self._free else _Worker()
        self.doing[worker] = task
        worker.take(task)

    def hear(self, state: str) -> Iterator[tuple[Task, Outcome | None]]:
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
                yield task, Failed(overlay=task.loaded.name, error=_died(task, worker.wait()))
                continue
            if word[0] == "step":
                step(f"{state}; {word[1]}")
            elif isinstance(word[1], Crash):
                raise word[1].error from _Traceback(word[1].traceback)
            else:
                self._free.append(worker)
                yield self.doing.pop(worker), word[1]


class _Worker:
    """A process that builds what it is handed."""

    def __init__(self) -> None:
        ours, theirs = Pipe()
        self.connection: Connection[Task | None, Word] = ours
        code = _CODE.format(path=sys.path, fd=theirs.fileno(), often=gc.get_threshold()[0])
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()

    def take(self, task: Task) -> None:
        """Hand it a task; that it is gone is found out when it is listened to."""
        with suppress(BrokenPipeError):
            self.connection.send(task)

    def dismiss(self, *, at_once: bool) -> None:
        """Tell it that nothing more comes, or to end in the middle of what it does."""
        with suppress(BrokenPipeError):
            self.connection.send(None)
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


def _died(task: Task, code: int) -> OverlayError:
    """Return the error that a process is gone, which nobody asked it to be."""
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    what = f"the process that built it ended before it was done: {how}"
    fix = "build with fewer --jobs: memory may have run out"
    return OverlayError(Problem(where=task.loaded.name, what=what, fix=fix))
