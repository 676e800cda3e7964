"""Permissions of files that bind a test run as root too."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def bound_by_permissions() -> tuple[str, ...]:
    """Return the command prefix under which folder permissions bind; skips where root cannot be held to them."""
    if os.geteuid():
        return ()
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("root can write everywhere and there is no setpriv to take that away")
    return (setpriv, "--bounding-set=-dac_override,-dac_read_search")


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Take the right to write from a folder and all below it."""
    entries = [path for path in (folder, *folder.rglob("*")) if not path.is_symlink()]
    rights = {path: path.stat().st_mode for path in entries}
    try:
        for path in reversed(entries):
            path.chmod(rights[path] & ~0o222)
        yield
    finally:
        for path in entries:
            path.chmod(rights[path])
