"""The command: arguments → an exit code."""

from __future__ import annotations

from collections.abc import Sequence

from npu_recipes.running import run


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code, documented in ``--help``."""
    return run(arguments)
