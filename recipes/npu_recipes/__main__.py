"""``python -m npu_recipes``, and the command ``npu-recipes``."""

from __future__ import annotations

import sys

from npu_recipes.errors import RecipeError, lacking


def run() -> int:
    """Run the command line of this process; returns its exit code."""
    try:
        from npu_recipes.cli import main  # noqa: PLC0415  # what it imports may be missing, here or as a command is read

        return main(sys.argv[1:])
    except ModuleNotFoundError as error:
        sys.stderr.write(f"error: {lacking(error)}\n")
        return RecipeError.exit_code


if __name__ == "__main__":
    sys.exit(run())
