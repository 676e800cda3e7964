"""Schemes: files that a wheel has for outside the library folder → where an installer put them, and what it rewrote."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping

from ..changes import SCHEMES
from ..stores import Store

_COMMANDS = ("bin", "Scripts")
_PYTHON = (b"#!python", b"#!pythonw")
# What uv begins a script with where the path of its Python is too long, or has a space, for one line.
_SHELL = b"#!/bin/sh\n"


def located(files: Mapping[str, str], record: Iterable[str], store: Store) -> dict[str, str]:
    """Return, by their places, the installed paths of the files that lie outside the library folder.

    Args:
        files: what was built, by place.
        record: the paths that RECORD lists.
        store: the installation.

    Returns:
        The path as RECORD spells it, or as it is where ``pip install --target`` has moved the file; none for a file
        that RECORD does not list.
    """
    places = [place for place in files if place.count("/") > 1 and place.startswith(f"{SCHEMES}/")]
    if not places:
        return {}
    listed = {_absolute(path, store): path for path in record if path not in files and ".dist-info/" not in path}
    found: dict[str, str] = {}
    for place in places:
        fitting = [path for path in listed if path.endswith(_endings(place))]
        if fitting:
            found[place] = _moved(listed[min(fitting, key=len)], store)
    return found


def _absolute(path: str, store: Store) -> str:
    return os.path.normpath(os.path.join(store.root, path)).replace(os.sep, "/")


def _endings(place: str) -> tuple[str, ...]:
    """Return what the path of a file may end with: in a wheel that was unpacked as it is, and where it is installed."""
    _, kind, inner = place.split("/", 2)
    return (place, *((f"/{one}/{inner}" for one in _COMMANDS) if kind == "scripts" else (f"/{inner}",)))


def _moved(path: str, store: Store) -> str:
    """Return where a file is: ``pip install --target`` moves it, and leaves its path in RECORD as it was."""
    inside = path
    while inside.startswith("../"):
        inside = inside.removeprefix("../")
    return inside if _is_file(inside, store) and not _is_file(path, store) else path


def _is_file(path: str, store: Store) -> bool:
    folder, _, name = path.rpartition("/")
    return store.listing(folder).get(name) == "file"


def is_rewritten(content: bytes, digest: str) -> bool:
    """Return whether a script is as it was built but for its first line, in which installers write their Python."""
    lines = 3 if content.startswith(_SHELL) else 1
    parts = content.split(b"\n", lines)
    if not content.startswith(b"#!") or len(parts) <= lines:
        return False
    heads = [head + end for head in _PYTHON for end in (b"\n", b"\r\n")]
    return any(hashlib.sha256(head + parts[-1]).hexdigest() == digest for head in heads)
