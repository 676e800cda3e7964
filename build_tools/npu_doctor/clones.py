"""Clones: a file → the git clone it lies in, and the commit and branch of that; git may not be installed on a node."""

from __future__ import annotations

import re
from pathlib import PurePath

from npu_doctor import files

_HEX = re.compile(r"[0-9a-f]{40}")
_INSTALLED = ("site-packages", "dist-packages")


def clone_of(file: str) -> str:
    """Return the ``.git`` of the clone a file lies in, empty where it lies in none; installed files lie in none."""
    for folder in PurePath(files.absolute(file)).parents[:-1]:
        if folder.name in _INSTALLED:
            return ""
        if files.exists(git := f"{folder}/.git"):
            return git
    return ""


def head(git: str) -> tuple[str, str]:
    """Return commit and branch of a clone."""
    pointer = files.text(git) or ""
    if pointer.startswith("gitdir:"):
        git = str(PurePath(git).parent / pointer.partition(":")[2].strip())
    written = (files.text(f"{git}/HEAD") or "").strip()
    if not written.startswith("ref:"):
        return (written, "") if _HEX.fullmatch(written) else ("", "")
    name = written.partition(":")[2].strip()
    common = (files.text(f"{git}/commondir") or "").strip()
    folders = [git, str(PurePath(git, common))] if common else [git]
    commit = next((found for folder in folders if (found := _reference(folder, name))), "")
    return commit, name.removeprefix("refs/heads/")


def _reference(git: str, name: str) -> str:
    """Return the commit a reference stands for, loose or packed; empty where it is not there."""
    loose = (files.text(f"{git}/{name}") or "").strip()
    if _HEX.fullmatch(loose):
        return loose
    packed = (files.text(f"{git}/packed-refs") or "").splitlines()
    return next((line[:40] for line in packed if line[41:] == name and _HEX.fullmatch(line[:40])), "")
