"""Bytecode: the ``.pyc`` files of an installation → those that Python uses although they are not the source's.

Python believes a ``.pyc`` that says it needs no check, and one whose date and
size are the source's. The second happens when files are unpacked with the
wheel's own, constant dates. Every file is looked at for the first; for the
second only the changed ones are compiled again, because compiling all takes
half a minute.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import re
import sys
import warnings

from ..stores import open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

    from .findings import Finding
    from .subjects import Subject
    from .surveys import Survey

# Module and level of optimization of the files this Python uses: ``module.cpython-311.opt-1.pyc``.
_NAME = re.compile(rf"([^.]+)\.{re.escape(sys.implementation.cache_tag or '')}(?:\.opt-([12]))?\.pyc")
_HEADER = 16
_UNCHECKED = 1


def check(subject: Subject, seen: Survey) -> Iterator[Finding]:
    """Yield one finding for all stale bytecode; zip files hold none that is not reported as added."""
    if subject.zipped:
        return
    stale = list(_stale_files(subject, seen))
    if stale:
        what = f"{len(stale)} compiled files that Python uses are not of the installed source"
        cause = "compiled from another version of the same date and size, or marked as never to be checked"
        yield subject.finding("stale bytecode", what, cause, paths=stale, repairs=subject.installer.remove(stale))


def _stale_files(subject: Subject, seen: Survey) -> Iterator[str]:
    changed = subject.upstream.keys()
    root = os.path.abspath(subject.store.root)
    for folder, listed in seen.folders.items():
        cache = os.path.dirname(importlib.util.cache_from_source(os.path.join(root, folder, "x.py")))
        for name in sorted(open_store(cache).listing("")):
            found = _NAME.fullmatch(name)
            source = f"{folder}/{found[1]}.py".removeprefix("/") if found else ""
            if not found or source not in subject.files or f"{found[1]}.py" not in listed:
                continue
            compiled, optimization = os.path.join(cache, name), int(found[2] or 0)
            if _is_stale(os.path.join(root, source), compiled, optimization, thorough=source in changed):
                yield compiled if sys.pycache_prefix else os.path.relpath(compiled, root).replace(os.sep, "/")


def _is_stale(source: str, compiled: str, optimization: int, *, thorough: bool) -> bool:
    try:
        with open(compiled, "rb", buffering=0) as file:
            header = file.read(_HEADER)
            if not _is_believed(header, source):
                return False
            flags = int.from_bytes(header[4:8], "little")
            if not thorough and flags != _UNCHECKED:
                return False
            body = file.read()
        with open(source, "rb") as file:
            text = file.read()
    except OSError:
        return False
    if flags == _UNCHECKED and header[8:] != importlib.util.source_hash(text):
        return True
    return thorough and not _same(body, text, optimization)


def _is_believed(header: bytes, source: str) -> bool:
    """Return whether Python takes the file without looking at the source's content."""
    if len(header) < _HEADER or header[:4] != importlib.util.MAGIC_NUMBER:
        return False
    flags = int.from_bytes(header[4:8], "little")
    if flags:
        return flags == _UNCHECKED
    status = os.stat(source)
    dated = int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF
    return dated == (int.from_bytes(header[8:12], "little"), int.from_bytes(header[12:], "little"))


def _same(body: bytes, text: bytes, optimization: int) -> bool:
    try:
        found: object = marshal.loads(body)  # noqa: S302  # compared and not run; Python itself would run it
    except (ValueError, EOFError, TypeError):
        return True  # Python fails on it or compiles again; nothing else runs
    return found == _code_of(text, optimization)


def _code_of(text: bytes, optimization: int) -> CodeType | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(text, "source", "exec", dont_inherit=True, optimize=optimization)
    except (SyntaxError, ValueError):
        return None
