"""Worker: the other side of a crew, a process that does what it is handed until it is handed nothing more.

It ends as soon as the process that started it is gone, however that ended, and leaves nothing then.
"""

from __future__ import annotations

import atexit
import gc
import os
import pickle
import queue
import signal
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Literal, TypeAlias

from npu_overlays.interrupts import Interrupted, interruptible, undisguised
from npu_overlays.progress import told_to


@dataclass(frozen=True, kw_only=True)
class Crash:
    """What went wrong and is not what came of a task: the error, and where it was raised."""

    error: Exception
    traceback: str


# What a worker says: a step it takes, or what came of its task.
Word: TypeAlias = tuple[Literal["step"], str] | tuple[Literal["done"], Any]
# What it is handed when nothing more comes; else a function and what to call it with, pickled.
END = b"."


def main(descriptor: int, threshold: int) -> int:
    """Do what comes, and say what came of it; returns the exit code.

    Args:
        descriptor: of the pipe to who started this.
        threshold: how seldom Python is to look for reference cycles.
    """
    gc.set_threshold(threshold)
    atexit.register(gc.freeze)  # as in the process that started this
    crew: Connection[Word, bytes] = Connection(descriptor)
    try:
        with interruptible(), undisguised(), suppress(BrokenPipeError):  # nobody is left who could be told
            tasks = _listen(crew)
            while (task := tasks.get()) != END:
                crew.send(("done", _attempt(task, crew.send)))
    except Interrupted as error:
        return error.exit_code
    return 0


def _listen(crew: Connection[Word, bytes]) -> queue.SimpleQueue[bytes]:
    """Return a queue of what comes; where nothing can come any more, this process is asked to end."""
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        try:
            while (task := crew.recv_bytes()) != END:
                tasks.put(task)
            tasks.put(END)
        except (EOFError, OSError):
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=listen, daemon=True).start()
    return tasks


def _attempt(task: bytes, tell: Callable[[Word], None]) -> Any:  # whatever the function gives
    try:
        with told_to(lambda message: tell(("step", message))):
            do, what = pickle.loads(task)  # noqa: S301  # from the process that started this one
            return do(what)
    except Exception as error:  # who started this decides what to say of it
        return _crash(error)


def _crash(error: Exception) -> Crash:
    said = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  # our own, to see whether it gets there
    except Exception:  # whatever a class does when it is copied
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return Crash(error=error, traceback=said)
