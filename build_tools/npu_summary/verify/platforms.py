"""Platforms: compiled files and the tags of their wheel → those that this Python and machine have no use for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib.machinery import EXTENSION_SUFFIXES

from .findings import Finding
from .subjects import Subject

_BINARY = re.compile(r"\.(so(\.\d+)*|pyd|dylib|dll)$")
# What stands between the name of a module and its ending says for which Python and machine it was compiled.
_TAGGED = re.compile(r"[^/.]+(\.(?:cpython-|cp|pypy|graalpy|abi)\d[-\w]*\.(?:so|pyd))$")


def check(subject: Subject) -> Iterator[Finding]:
    """Yield compiled files in a wheel that is tagged for any platform, and those made for another one than this."""
    compiled = sorted(path for path in subject.files if _BINARY.search(path))
    if not compiled:
        return
    tags = [tag for one in subject.own for tag in one.tags]
    named = subject.changes["not_built"] if subject.changes else ()
    unnamed = [path for path in compiled if not any(_is_named(path, glob) for glob in named)]
    if unnamed and tags and all(tag.endswith("-any") for tag in tags):
        what = f"{_count(unnamed)}, and its WHEEL file says that it is for any platform"
        cause = "its metadata was edited, or it was not built by npu-overlays"
        yield subject.finding("wrong tag", what, cause, paths=unnamed)
    foreign = [path for path in unnamed if _is_foreign(path, compiled)]
    if foreign:
        what = f"{_count(foreign)} that this Python cannot import: it takes {EXTENSION_SUFFIXES[0]}"
        cause = f"installed for another Python or machine ({', '.join(tags) or 'WHEEL is missing'}), or copied from one"
        yield subject.finding("another platform", what, cause, paths=foreign)


def _count(paths: list[str]) -> str:
    return f"{len(paths)} compiled {'file' if len(paths) == 1 else 'files'}"


def _is_named(path: str, glob: str) -> bool:
    return fnmatchcase(path, glob) or path.startswith(f"{glob}/")


def _is_foreign(path: str, compiled: list[str]) -> bool:
    """Return whether no compiled file of this module is one that this Python imports."""
    found = _TAGGED.search(path)
    if not found:
        return False
    stem = path[: found.start(1)]
    return not any(f"{stem}{suffix}" in compiled for suffix in EXTENSION_SUFFIXES)
