"""Bytecode: the ``.pyc`` files of an installation → those that Python uses although they are not the source's.

Python believes a ``.pyc`` that says it needs no check, and one whose date and
size are the source's. The second happens when files are unpacked with the
wheel's own, constant dates. Every file is looked at for the first; for the
second only the changed ones are compiled again, because compiling all takes
half a minute.
"""

# ruff: noqa: PTH116, PTH118, PTH123 - as in `stores`, plain `os`

from __future__ import annotations

import importlib.util
import marshal
import os
import sys
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

    from .findings import Finding
    from .subjects import Subject
    from .surveys import Survey

_HEADER = 16
_UNCHECKED, _CHECKED = 1, 3


def check(subject: Subject, seen: Survey) -> Iterator[Finding]:
    """Yield one finding for all stale bytecode; zip files hold none that is not reported as added."""
    if subject.zipped:
        return
    stale = list(_stale(subject, seen))
    if stale:
        what = f"{len(stale)} compiled files that Python uses are not of the installed source"
        cause = "compiled from another version of the same date and size, or marked as never to be checked"
        yield subject.finding("stale bytecode", what, cause, paths=stale, repairs=subject.installer.remove(stale))


def _stale(subject: Subject, seen: Survey) -> Iterator[str]:
    changed = subject.upstream.keys()
    root = os.path.abspath(subject.store.root)  # noqa: PTH100  # as in `stores`
    for folder, listed in seen.folders.items():
        cache = os.path.dirname(importlib.util.cache_from_source(os.path.join(root, folder, "x.py")))  # noqa: PTH120
        for name in _names(cache):
            stem, tag, optimization = _split(name)
            source = f"{folder}/{stem}.py".removeprefix("/")
            if tag != sys.implementation.cache_tag or source not in subject.files or f"{stem}.py" not in listed:
                continue
            compiled = os.path.join(cache, name)
            if _is_stale(os.path.join(root, source), compiled, optimization, thorough=source in changed):
                yield compiled if sys.pycache_prefix else os.path.relpath(compiled, root).replace(os.sep, "/")


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".pyc"))  # noqa: PTH208
    except OSError:
        return []


def _split(name: str) -> tuple[str, str, int]:
    """Return module name, interpreter tag and optimization level of ``module.cpython-311.opt-1.pyc``."""
    parts = name.split(".")
    stem, tag = parts[0], parts[1] if len(parts) > 2 else ""  # noqa: PLR2004  # name, tag, ending
    level = parts[2].removeprefix("opt-") if len(parts) > 3 else "0"  # noqa: PLR2004  # and the level between
    return stem, tag, int(level) if level.isdigit() else 0


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
    return found == _compiled(text, optimization)


def _compiled(text: bytes, optimization: int) -> CodeType | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(text, "source", "exec", dont_inherit=True, optimize=optimization)
    except (SyntaxError, ValueError):
        return None
