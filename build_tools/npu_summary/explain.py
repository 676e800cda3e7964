"""Explain: the lines of a log → its tracebacks, with a mark below each frame that lies in changed code.

The mark names the change of an installed wheel that the function there is made by.

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

from . import outline
from .changes import Change, Changes, ClassChange, FileChange
from .installed import Place

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# `(TaskRunner pid=7, ip=10.0.0.2) ` of Ray, `[rank0]:` of torchrun.
_WORKER = re.compile(r"(?:\([^()]*\bpid=\d+[^()]*\) ?|\[[\w-]*\d+\]: ?)*")
_HEAD = re.compile(r".*\bTraceback \(most recent call last\):")
# Of exception groups a margin stands before it.
_FRAME = re.compile(r'[ |+-]*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>\S+))?')
_CODE = re.compile(r"[ |]*(?: {4}|\[Previous line repeated )")
_LINKS = ("During handling of the above exception", "The above exception was the direct cause")
_KEPT = "_upstream_"  # what the private name of a wrapped original holds


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
    """Yield the lines of every traceback of a log, without colours, below each frame its mark.

    `mark` is asked for a file, a line and a function, and returns an empty text for none.
    """
    inside: set[str] = set()
    for raw in log:
        line = _COLOUR.sub("", raw).rstrip("\r\n")
        worker = found[0] if (found := _WORKER.match(line)) else ""
        text = line[len(worker) :]
        if frame := _FRAME.match(text):
            inside.add(worker)
            yield line
            if sentence := mark(frame["file"], int(frame["line"]), frame["function"] or ""):
                yield f"{worker}    {sentence}"
        elif _HEAD.match(text) or text.startswith(_LINKS):
            inside.add(worker)
            yield line
        elif worker in inside and text.strip():
            yield line
            # What is not further in than the frames is the error itself: the traceback ends with it.
            if not _CODE.match(text):
                inside.discard(worker)


class Symbols:
    """The changed files of the installed wheels, from the place and the changes of each."""

    def __init__(self, found: Iterable[tuple[Place, Changes]]) -> None:
        self._files: dict[str, tuple[str, str, FileChange]] = {}
        self._spans: dict[str, list[tuple[int, int, str]]] = {}
        for place, changes in found:
            for file in changes["files"]:
                path = os.path.realpath(os.path.join(place.root, file["installed"]))
                self._files[file["installed"]] = (path, place.distribution, file)

    def mark(self, file: str, line: int, function: str) -> str:
        """Return the mark of a frame: who changed that function and why; empty for upstream's own code.

        Args:
            file: as a traceback names it, of this machine or of another one with the same wheels.
            line: in that file.
            function: the name of the function, to see that the line is one of the installed file.
        """
        installed = self._changed_file(file)
        if installed is None:
            return ""
        path, distribution, changed = self._files[installed]
        if path not in self._spans:
            self._spans[path] = list(_spans(path))
        # The functions and classes around the line, the outermost first.
        around = [(first, name) for first, last, name in self._spans[path] if first <= line <= last]
        leaf = around[-1][1].rpartition(".")[2] if around else ""
        if function.isidentifier() and function != leaf:
            what = f"{function} is not in line {line} of the file that is installed here"
            return f"[{distribution}] changes {installed}, but {what}: the log is of another build"
        for start, name in reversed(around):
            if change := _change(changed, name, start):
                return f"[{distribution}] {_sentence(change, outline.symbol(change, name))}"
            if original := _original(changed, name, start):
                return f"[{distribution}] upstream's own code, called by the wrapper around {original}"
        return f"[{distribution}] added this file" if changed["action"] == "added" else ""

    def _changed_file(self, file: str) -> str | None:
        """Return the changed file that a path means, as it lies in its wheel; None for another file."""
        found = file.replace("\\", "/")
        while found not in self._files:
            _, slash, found = found.partition("/")
            if not slash:
                return None
        # Where the path is none of this machine, the wheels lie elsewhere on that of the log.
        is_ours = not os.path.exists(file) or os.path.realpath(file) == self._files[found][0]
        return found if is_ours else None


def _spans(path: str) -> Iterator[tuple[int, int, str]]:
    """Yield the lines and the name of every function and class of a file, outer ones first."""
    import ast

    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return
    todo: list[tuple[ast.AST, str]] = [(tree, "")]
    while todo:
        node, prefix = todo.pop()
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{prefix}.{child.name}".lstrip(".")
                yield child.lineno, child.end_lineno or child.lineno, name
            todo.append((child, name))


def _change(file: FileChange, name: str, line: int) -> Change | ClassChange | None:
    """Return the change that made what begins on a line what it is; of several definitions each has its own."""
    listed = sorted(outline.changes_of(file, name), key=lambda one: one["line"] != line)
    if found := next((one for one in listed if "where" not in one or one["line"] == line), None):
        return found
    return next((one for one in file["class_changes"] if one["name"] == name and one["action"] == "added"), None)


def _original(file: FileChange, name: str, line: int) -> str:
    """Return the wrapped symbol whose original is kept under a name, and begins on a line; empty where there is none.

    In a class, a name that ends with an underscore is kept with one more; of several definitions of a name each with
    what tells it from the others behind it.
    """
    owner, _, last = name.rpartition(".")
    if _KEPT not in last:
        return ""
    kept = last.partition(_KEPT)[2]
    kept = kept.removeprefix(f"{owner.replace('.', '_')}_")  # as one that is a global of the module is called
    for leaf in (kept, kept.removesuffix("_"), kept.rpartition("_")[0]):
        wrapped = f"{owner}.{leaf}".lstrip(".")
        above: list[Change] = []
        for one in outline.changes_of(file, wrapped):
            if one["operation"] == "wrapped" and (one["line"] or 0) < line:
                above.append(one)
        if above:
            return outline.symbol(max(above, key=lambda one: one["line"] or 0), wrapped)
    return ""


def _sentence(change: Change | ClassChange, name: str) -> str:
    operation = change.get("operation", "")
    done = {"file": "added", "import": "added", "patch": "patched"}.get(operation, operation or "changed")
    why = " ".join(change.get("why", "").split())
    by = f" by {layer}" if (layer := change.get("overlay")) else ""
    forwarded = f" (forwarded: {place})" if (place := change.get("forwarded")) else ""
    return f"{done} {name}{by}{f': {why}' if why else ''}{forwarded}"
