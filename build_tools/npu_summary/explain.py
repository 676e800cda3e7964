"""Explain: the lines of a log → its tracebacks, with a mark below each frame that lies in changed code.

Workers of a cluster write into one log: Ray and torchrun put their names before each line, and lines of several
tracebacks can alternate. So each worker's lines are followed by themselves.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# `(TaskRunner pid=7, ip=10.0.0.2) ` of Ray, `[rank0]:` of torchrun.
_WORKER = re.compile(r"(?:\([^()]*\bpid=\d+[^()]*\) ?|\[[\w-]*\d+\]: ?)*")
_HEAD = re.compile(r".*\bTraceback \(most recent call last\):")
# Of exception groups a margin stands before it.
_FRAME = re.compile(r'[ |+-]*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>\S+))?')
_CODE = re.compile(r"[ |]*(?: {4}|\[Previous line repeated )")
_LINKS = ("During handling of the above exception", "The above exception was the direct cause")


@contextmanager
def lines_of(name: str) -> Iterator[Iterable[str]]:
    """Give the lines of a file, or of standard input for ``-``, with marks where they are not UTF-8.

    Raises:
        OSError: it cannot be read.
    """
    if name != "-":
        with open(name, encoding="utf-8", errors="replace") as file:
            yield file
    elif sys.stdin is None:  # closed by the caller: `<&-`
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    else:
        yield (line.decode("utf-8", "replace") for line in sys.stdin.buffer)


def explain(log: Iterable[str], mark: Callable[[str, int, str], str]) -> Iterator[str]:
    """Yield the lines of every traceback of a log, without colours, below each frame what there is to `mark` it with.

    That is asked for a file, a line and a function, and empty for nothing.
    """
    inside: set[str] = set()
    for raw in log:
        line = _COLOUR.sub("", raw).rstrip("\r\n")
        worker = found[0] if (found := _WORKER.match(line)) else ""
        text = line[len(worker) :]
        if frame := _FRAME.match(text):
            inside.add(worker)
            yield line
            if told := mark(frame["file"], int(frame["line"]), frame["function"] or ""):
                yield f"{worker}    {told}"
        elif _HEAD.match(text) or text.startswith(_LINKS):
            inside.add(worker)
            yield line
        elif worker in inside and text.strip():
            yield line
            # What is not further in than the frames is the error itself: the traceback ends with it.
            if not _CODE.match(text):
                inside.discard(worker)
