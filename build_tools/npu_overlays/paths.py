"""Paths below a root, of a repository, an archive or an overlay: what is wrong with them, before any is written."""

from __future__ import annotations

import os
import shlex
import unicodedata
from collections.abc import Iterable
from pathlib import Path


def at_home(text: str) -> Path:
    """Return a path with ``~`` expanded; unchanged if the user does not exist."""
    return Path(os.path.expanduser(text))  # noqa: PTH111  # pathlib's own fails where there is no such user


def as_typed(folder: Path) -> str:
    """Return a folder as it is typed here."""
    return os.path.relpath(folder) if folder.is_relative_to(Path.cwd()) else str(folder)


def as_argument(overlay: Path) -> str:
    """Return what names an overlay's folder on a command line here: its name where that finds it, else its path."""
    is_found = overlay.parent.resolve() == Path("overlays").resolve()
    return shlex.quote(overlay.name if is_found else as_typed(overlay))


def unsafe(path: str) -> str:
    """Return why `path` must not be written below a folder, or an empty string if it may."""
    parts = path.split("/")
    reasons = {
        "is absolute": path.startswith("/"),
        "holds a backslash": "\\" in path,
        "leads out of the tree through '..'": ".." in parts,
        "holds an empty or '.' component": "" in parts or "." in parts,
        "holds a '.git' component": any(part.lower() == ".git" for part in parts),
        "is not printable UTF-8": not path.isprintable(),  # NUL, control characters, undecodable bytes
    }
    return next((reason for reason, found in reasons.items() if found), "")


def faults(paths: Iterable[str]) -> list[str]:
    """Return one line for each path that is unsafe, repeated, or both a file and a folder.

    Upstream's paths may contain invisible characters such as marks of direction: verl had one in a name for three
    months. Messages print escapes for them.
    """
    found: list[str] = []
    seen: set[str] = set()
    listed = list(paths)
    for path in listed:
        reason = unsafe(_seen(path)) or ("occurs twice" if path in seen else "")
        seen.add(path)
        if reason:
            found.append(f"{path!r} {reason}")
    return [*found, *(f"{path!r} is a file and a folder" for path in sorted(seen & _folders(seen)))]


def _seen(path: str) -> str:
    """Return a path without its format characters: there are file systems to which `.g\u200dit` is `.git`."""
    return path if path.isprintable() else "".join(one for one in path if unicodedata.category(one) != "Cf")


def _folders(paths: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found
