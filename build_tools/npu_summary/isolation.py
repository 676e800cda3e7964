"""Isolation: keep the current folder out of a check, and still look at what a training run would import.

``python -I -m verl_npu_summary`` runs nothing that lies where it is started.
But ``-I`` also passes over ``PYTHONPATH``, and what comes in from there is
among what the checks are to find.
"""

from __future__ import annotations

import os
import sys

_SITES = ("site-packages", "dist-packages")


def look_where_python_would() -> None:
    """Where this Python ignores its environment, put the folders of ``PYTHONPATH`` on the path all the same.

    They come before what is installed, as they would, but behind the standard library, which is what runs the check.
    """
    if not sys.flags.ignore_environment:
        return
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    added = [entry for entry in named if os.path.isabs(entry) and entry not in sys.path]
    sites = (number for number, entry in enumerate(sys.path) if os.path.basename(entry) in _SITES)
    at = next(sites, len(sys.path))
    sys.path[at:at] = added


def options() -> list[str]:
    """Return the options that keep a child process from the current folder where this one was kept from it."""
    if sys.flags.isolated:
        return ["-I"]
    return ["-P"] if getattr(sys.flags, "safe_path", False) else []
