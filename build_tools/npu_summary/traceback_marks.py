"""Traceback marks: a frame of a traceback in, what was changed about its function and why out.

Off unless asked for: by ``VERL_NPU_TRACEBACK=1`` when verl-npu's summary
package is imported (the patched verl imports its own where training starts, in
every Ray worker too, if that variable is set there; other wheels have variables
of their names), or by calling `install`. It then
adds lines to what Python's `traceback` module formats, which is what logging,
Ray and pytest print; nothing else changes.
"""

# ruff: noqa: PLC0415 - a process that shows no traceback imports nothing

from __future__ import annotations

import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Any

    from .changes import Changes, FileChange, Ledger
    from .installed import Place

_MARK = "_npu_summary_original"  # by this any copy of this package knows that another is at work
_FRAME = re.compile(r'\s*File "(?P<file>.+)", line (?P<line>\d+), in ')
_PRIVATE = "_upstream_"


class _Symbols:
    """The changed functions of the installed wheels, looked up by file and line.

    Attributes:
        files: by real path, the overlay's name and the changes of each changed file.
        spans: by real path, first line, last line and dotted name of every function and class; read when asked for.
    """

    def __init__(self) -> None:
        from . import installed

        self.files: dict[str, tuple[str, FileChange]] = {}
        self.spans: dict[str, list[tuple[int, int, str]]] = {}
        for place in installed.places():
            for changes in installed.load([place]).changes:
                self._add(place, changes)

    def _add(self, place: Place, changes: Changes) -> None:
        for file in changes["files"]:
            path = os.path.realpath(os.path.join(place.root, file["installed"]))  # noqa: PTH118 - plain `os` is loaded
            self.files[path] = (changes["overlay"]["name"], file)

    def mark(self, file: str, line: int) -> str:
        """Return what to say of a frame; empty for code as upstream has it."""
        path = os.path.realpath(file)
        if path not in self.files:
            return ""
        overlay, changed = self.files[path]
        if path not in self.spans:
            self.spans[path] = list(_spans(path))
        names = [name for first, last, name in self.spans[path] if first <= line <= last]
        for name in reversed(names):
            if change := _change(changed, name):
                return _told(change, overlay, name)
            if original := _original(changed, name):
                return f"[npu] upstream's own code, called by the {overlay} wrapper around {original}"
        if changed["action"] == "added":
            return f"[npu] {overlay} added this file"
        return ""


def _spans(path: str) -> Iterator[tuple[int, int, str]]:
    """Yield the lines of every function and class of a file, outer ones first."""
    import ast

    try:
        with open(path, "rb") as file:  # noqa: PTH123 - plain `os` is loaded
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


def _change(file: FileChange, name: str) -> Ledger | None:
    """Return the change that made a symbol what it is."""
    owner, _, last = name.rpartition(".")
    for entry in file["class_changes"]:
        if entry["name"] == owner:
            found = next((one for one in entry["changes"] if one["name"] == last), None)
            if found:
                return found
        if entry["name"] == name and entry["action"] == "added":
            return entry
    return next((one for one in file["module_changes"] if one["name"] == name), None)


def _original(file: FileChange, name: str) -> str:
    """Return the wrapped symbol whose original a name is kept under; empty where it is none."""
    owner, _, last = name.rpartition(".")
    if _PRIVATE not in last:
        return ""
    kept = last.partition(_PRIVATE)[2]
    # In a class, a name that ends with an underscore is kept with one more.
    for leaf in (kept, kept.removesuffix("_")):
        wrapped = f"{owner}.{leaf}".lstrip(".")
        change = _change(file, wrapped)
        if change and change.get("operation") == "wrapped":
            return wrapped
    return ""


def _told(change: Ledger, overlay: str, name: str) -> str:
    said = change.get("operation", "")
    operation = {"file": "added", "import": "added", "patch": "patched"}.get(said, said)
    why = " ".join(change.get("why", "").split())
    forwarded = f" (forwarded: {change['forwarded']})" if change.get("forwarded") else ""
    return f"[npu] {change.get('overlay') or overlay} {operation} {name}{f': {why}' if why else ''}{forwarded}"


def install() -> None:
    """Mark frames from now on, in everything that formats tracebacks in this process. Doing it twice is as once."""
    import threading
    import traceback

    format_ = traceback.StackSummary.format
    if hasattr(format_, _MARK):
        return
    marked = _marked(format_)
    setattr(marked, _MARK, format_)
    traceback.StackSummary.format = marked  # type: ignore[method-assign]  # the one place all of Python formats with
    # Until 3.13 the interpreter itself prints what nobody caught, without that module.
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _print_in_thread


def uninstall() -> None:
    """Undo `install`, whichever copy of this package did it."""
    import threading
    import traceback

    original = getattr(traceback.StackSummary.format, _MARK, None)
    if original is not None:
        traceback.StackSummary.format = original  # type: ignore[method-assign]  # as found
    if getattr(sys.excepthook, "__module__", "").endswith("traceback_marks"):
        sys.excepthook = sys.__excepthook__
    if getattr(threading.excepthook, "__module__", "").endswith("traceback_marks"):
        threading.excepthook = threading.__excepthook__


def _marked(format_: Callable[..., list[str]]) -> Callable[..., list[str]]:
    symbols: list[_Symbols] = []

    def format_marked(summary: Any, **more: Any) -> list[str]:
        lines = format_(summary, **more)
        try:
            if not symbols:
                symbols.append(_Symbols())
            return [_with_mark(entry, symbols[0]) for entry in lines]
        except Exception:  # a traceback is being shown; nothing may come in its way
            return lines

    return format_marked


def _with_mark(entry: str, symbols: _Symbols) -> str:
    frame = _FRAME.match(entry)
    mark = symbols.mark(frame["file"], int(frame["line"])) if frame else ""
    return f"{entry}    {mark}\n" if mark else entry


def _print(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    import traceback

    if sys.stderr is not None:
        traceback.print_exception(kind, error, trace)


def _print_in_thread(args: Any) -> None:
    import traceback

    if args.exc_type is SystemExit or sys.stderr is None:
        return
    sys.stderr.write(f"Exception in thread {args.thread.name if args.thread else '?'}:\n")
    traceback.print_exception(args.exc_type, args.exc_value, args.exc_traceback)
