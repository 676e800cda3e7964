"""Doctor: a command line that npu-doctor understands → its exit code, or how to install it.

What machines and running processes are examined for changes faster than a patched wheel may, so another distribution
does it; it is used where it is installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import shlex
import sys

from . import stream
from .reports import UNTOLD

_PACKAGE = "npu_doctor"


def is_installed() -> bool:
    """Return whether npu-doctor can be found."""
    return importlib.util.find_spec(_PACKAGE) is not None


def run(argv: list[str], *, package: str) -> int:
    """Hand a command line over.

    Returns:
        Its exit code; 2 where it is not installed.
    """
    if not is_installed():
        pip = f"{shlex.quote(sys.executable or 'python')} -m pip install npu-doctor"
        how = f"to install it: {pip} (--find-links FOLDER where it lies beside our wheels)"
        stream.warn(f"error: this needs npu-doctor, which is not installed; {how}", package=package)
        return UNTOLD
    command = importlib.import_module(f"{_PACKAGE}.cli")
    code: int = command.main(argv)
    return code
