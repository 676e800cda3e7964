"""Bytecode: the ``.pyc`` files of an installation → those that Python uses although they are not the source's.

Python believes a ``.pyc`` that says it needs no check, and one whose date and
size are the source's. The second happens when files are unpacked with the
wheel's own, constant dates. Every file is looked at for the first; for the
second only the changed ones are compiled again, because compiling all takes
half a minute.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys

from ..stores import open_store, read_file
from .compiled import HEADER, UNCHECKED, comparison

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .compiled import Candidate
    from .findings import Finding
    from .subjects import Subject
    from .surveys import Survey

# Module and level of optimization of the files this Python uses: ``module.cpython-311.opt-1.pyc``.
_NAME = re.compile(rf"([^.]+)\.{re.escape(sys.implementation.cache_tag or '')}(?:\.opt-([12]))?\.pyc")


def begin(subject: Subject, seen: Survey) -> Callable[[], list[str]]:
    """Begin to look for stale bytecode, and return what gives its paths; zip files hold none not reported as added."""
    root = os.path.abspath(subject.store.root)
    shown: dict[str, str] = {}
    candidates: list[Candidate] = []
    for source, compiled, optimization in [] if subject.zipped else _files(subject, seen, root):
        believed = _believed(os.path.join(root, source), compiled)
        if believed is None or not (believed == UNCHECKED or source in subject.upstream):
            continue
        shown[compiled] = compiled if sys.pycache_prefix else os.path.relpath(compiled, root).replace(os.sep, "/")
        candidates.append((os.path.join(root, source), compiled, optimization, source in subject.upstream))
    compared = comparison(candidates)
    return lambda: [shown[compiled] for compiled in compared()]


def check(subject: Subject, stale: list[str]) -> Iterator[Finding]:
    """Yield one finding for all stale bytecode."""
    if stale:
        what = f"{len(stale)} compiled files that Python uses are not of the installed source"
        cause = "compiled from another version of the same date and size, or marked as never to be checked"
        yield subject.finding("stale bytecode", what, cause, paths=stale, repairs=subject.installer.remove(stale))


def _files(subject: Subject, seen: Survey, root: str) -> Iterator[tuple[str, str, int]]:
    """Yield every built source with a bytecode file that this Python may use for it, and its level of optimization."""
    for folder, listed in seen.folders.items():
        cache = os.path.dirname(importlib.util.cache_from_source(os.path.join(root, folder, "x.py")))
        for name in sorted(open_store(cache).listing("")):
            found = _NAME.fullmatch(name)
            source = f"{folder}/{found[1]}.py".removeprefix("/") if found else ""
            if found and source in subject.files and f"{found[1]}.py" in listed:
                yield source, os.path.join(cache, name), int(found[2] or 0)


def _believed(source: str, compiled: str) -> int | None:
    """Return the flags of a file that Python takes without looking at the source's content; None for another."""
    try:
        header = read_file(compiled, HEADER)
        status = os.stat(source)
    except OSError:
        return None
    if len(header) < HEADER or header[:4] != importlib.util.MAGIC_NUMBER:
        return None
    flags = int.from_bytes(header[4:8], "little")
    dated = int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF
    said = int.from_bytes(header[8:12], "little"), int.from_bytes(header[12:], "little")
    return flags if flags == UNCHECKED or (not flags and dated == said) else None
