"""Compiled: bytecode files and their sources → those that are not what Python would compile of the source now.

To compile is most of what a verification costs, and what else it does waits for the disk. So a second process compares
as well, which runs this file alone: nothing of the installation that is being verified is imported there.
"""

from __future__ import annotations

import marshal
import os
import sys
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from subprocess import Popen

    # Source, bytecode, level of optimization, and whether the code is compared, not only the digest it may hold.
    Candidate = tuple[str, str, int, bool]

HEADER = 16
UNCHECKED = 1
_WORTH_A_PROCESS = 8
_AT_ONCE = 4096  # bytes, each a verdict: 1 for stale bytecode


def comparison(candidates: Sequence[Candidate]) -> Callable[[], list[Candidate]]:
    """Begin to compare, and return what gives those with stale bytecode, once it is needed."""
    if len(candidates) < _WORTH_A_PROCESS or _cores() == 1:
        return lambda: stale(candidates)
    ordered = _meeting(candidates)
    process = _start(ordered)
    return lambda: _shared(process, ordered) if process else stale(ordered)


def stale(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return those whose bytecode Python believes although it is not of its source."""
    return [candidate for candidate in candidates if _is_stale(*candidate)]


def _cores() -> int:
    """Return on how many cores this process may run; in a container those are fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _meeting(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the largest at both ends: where two processes meet, one of them compares in vain."""

    def size(candidate: Candidate) -> int:
        try:
            return os.stat(candidate[1]).st_size
        except OSError:
            return 0

    by_size = sorted(candidates, key=size)
    return [*by_size[::-2], *by_size[-2::-2][::-1]]


def _start(candidates: Sequence[Candidate]) -> Popen[bytes] | None:
    """Start a process that compares; None where none can be started, as in a Python that is built into a program."""
    import contextlib
    import subprocess

    if not sys.executable:
        return None
    command = [sys.executable, "-I", "-S", __file__]
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return None
    wanted, process.stdin = process.stdin, None
    if wanted:
        with contextlib.suppress(OSError), wanted:  # one that has ended by then tells nothing
            wanted.write(marshal.dumps(list(candidates)))
    return process


def _shared(process: Popen[bytes], candidates: Sequence[Candidate]) -> list[Candidate]:
    """Compare from the last on, while a process does from the first on, until the two meet.

    One that has ended, or never answers, leaves all of it to this one.
    """
    from threading import Thread  # the other process does without

    verdicts = bytearray()
    listener = Thread(target=_listen, args=(process, verdicts))
    listener.start()
    found: list[Candidate] = []
    left = len(candidates)
    while left > len(verdicts):
        left -= 1
        found += stale(candidates[left : left + 1])
    with process:
        process.kill()
        listener.join()
    told = [candidate for candidate, verdict in zip(candidates[:left], verdicts, strict=False) if verdict]
    return [*told, *reversed(found)]


def _listen(process: Popen[bytes], verdicts: bytearray) -> None:
    """Add each verdict as it comes; what is none is no Python's, and neither is what follows."""
    while process.stdout and (told := os.read(process.stdout.fileno(), _AT_ONCE)) and not told.strip(b"\0\1"):
        verdicts += told


def _is_stale(source: str, compiled: str, optimization: int, compared: bool) -> bool:  # noqa: FBT001  # as marshalled
    try:
        with open(compiled, "rb") as file:
            header, body = file.read(HEADER), file.read()
        with open(source, "rb") as file:
            text = file.read()
    except OSError:
        return False
    if int.from_bytes(header[4:8], "little") == UNCHECKED:
        import importlib.util  # seldom needed, and half of a start

        if header[8:] != importlib.util.source_hash(text):
            return True
    return compared and not _same(body, text, optimization)


def _same(body: bytes, text: bytes, optimization: int) -> bool:
    try:
        found: object = marshal.loads(body)  # noqa: S302  # compared and not run; Python itself would run it
    except (ValueError, EOFError, TypeError):
        return True  # Python fails on it or compiles again; nothing else runs
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return found == compile(text, "source", "exec", dont_inherit=True, optimize=optimization)
    except (SyntaxError, ValueError):
        return False


if __name__ == "__main__":
    wanted = marshal.loads(sys.stdin.buffer.read())  # noqa: S302  # the process that started this one wrote it
    for one in wanted:
        os.write(1, bytes([_is_stale(*one)]))
