"""Bytecode: the ``.pyc`` files of an installation → those that Python uses although they are not the source's.

Python believes a ``.pyc`` that says it needs no check, and one whose date and size are the source's. The second happens
when files are unpacked with the wheel's own, constant dates. Every file is looked at for the first; for the second only
the changed ones are compiled again, because compiling all takes half a minute.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain

from ..stores import Folder, read_head
from .compiled import HEADER, UNCHECKED, comparison, stale
from .findings import Finding
from .subjects import Subject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .compiled import Candidate

# Module and level of optimization of the files this Python uses: ``module.cpython-311.opt-1.pyc``.
_NAME = re.compile(rf"([^.]+)\.{re.escape(sys.implementation.cache_tag or '')}(?:\.opt-([12]))?\.pyc")


def begin(subjects: Sequence[Subject]) -> Callable[[], list[list[Candidate]]]:
    """Begin to compile the changed files, and return what gives, of each subject, those whose bytecode is another's.

    That is most of the work of a verification, and runs while everything else is examined.
    """
    believed: list[list[Candidate]] = []
    others: list[list[Candidate]] = []
    for subject in subjects:
        changed = subject.files.keys() & subject.upstream.keys()
        believed.append([(*one, True) for one in _files(subject, changed) if _is_believed(one[0], one[1])])
    compared = comparison(list(chain.from_iterable(believed)))

    def found() -> list[list[Candidate]]:
        for subject in subjects:  # before those that are compiled are waited for
            unchanged = subject.files.keys() - subject.upstream.keys()
            # Of those that Python never checks only the digest that they hold is compared.
            unchecked = [(*one, False) for one in _files(subject, unchanged) if _head(one[1])[4:8] == _UNCHECKED]
            others.append(stale(unchecked))
        compiled = set(compared())
        return [[*filter(compiled.__contains__, own), *other] for own, other in zip(believed, others, strict=True)]

    return found


def check(subject: Subject, found: Sequence[Candidate]) -> Iterator[Finding]:
    """Yield one finding for all stale bytecode that was found; zip files hold none that is not reported as added."""
    paths = sorted(one[1] for one in found)
    if paths:
        what = f"{len(paths)} compiled files that Python uses are not of the installed source"
        cause = "compiled from another version of the same date and size, or marked as never to be checked"
        if not sys.pycache_prefix:
            root = os.path.abspath(subject.store.root)
            paths = [os.path.relpath(path, root).replace(os.sep, "/") for path in paths]
        yield subject.finding("stale bytecode", what, cause, paths=paths, repairs=subject.installer.remove(paths))


def _files(subject: Subject, sources: Collection[str]) -> Iterator[tuple[str, str, int]]:
    """Yield, of built sources, those that this Python may use a bytecode file for, with that and its optimization."""
    if subject.zipped:
        return
    root = os.path.abspath(subject.store.root)
    for folder in sorted({path.rpartition("/")[0] for path in sources}):
        place = f"{root}{os.sep}{folder}"
        cache = f"{place}{os.sep}__pycache__"
        if sys.pycache_prefix is not None:
            cache = os.path.dirname(importlib.util.cache_from_source(f"{place}{os.sep}x.py"))
        for name in sorted(Folder(cache).listing("")):
            found = _NAME.fullmatch(name)
            source = f"{folder}/{found[1]}.py".removeprefix("/") if found else ""
            if found and source in sources:
                yield f"{place}{os.sep}{found[1]}.py", f"{cache}{os.sep}{name}", int(found[2] or 0)


def _is_believed(source: str, compiled: str) -> bool:
    """Return whether Python takes a file without looking at the source's content."""
    head = _head(compiled)
    try:
        status = os.stat(source)
    except OSError:
        return False
    dated = (0, int(status.st_mtime), status.st_size)
    return head[4:8] == _UNCHECKED or head[4:] == b"".join(map(_number, dated))


def _head(compiled: str) -> bytes:
    """Return how a bytecode file begins, which says how Python checks it; nothing where it is none of this Python's."""
    try:
        head = read_head(compiled, HEADER)
    except OSError:
        return b""
    return head if len(head) == HEADER and head[:4] == importlib.util.MAGIC_NUMBER else b""


def _number(number: int) -> bytes:
    return (number & 0xFFFFFFFF).to_bytes(4, "little")


_UNCHECKED = _number(UNCHECKED)
