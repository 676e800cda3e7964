"""``python -m npu_recipes``, and the command ``npu-recipes``."""

from __future__ import annotations

import sys

from npu_recipes.cli import main


def run() -> int:
    """Run the command line of this process; returns its exit code."""
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
