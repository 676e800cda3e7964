"""Stacks with npu-recipes: an installed verl, and the command beside it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from environments import Installations, Torch, Unavailable
from verl_stacks import Stack


@dataclass(frozen=True, kw_only=True)
class Recipes:
    """One stack with npu-recipes.

    Args:
        environment: holds what the stack depends on.
        packages: folders with the patched packages, and with npu-recipes.
    """

    environment: Torch
    packages: tuple[Path, ...]

    def run(
        self, *arguments: str | Path, before: tuple[Path, ...] = (), **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run Python with arguments, and return what it did.

        Args:
            arguments: of Python.
            before: folders to look for packages in first.
            variables: of the environment.
        """
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST_", "COV_", "PYTHON", "RAY_", "VERL_", "NPU_RECIPES"))
        }
        places = os.pathsep.join(map(str, (*before, *self.packages)))
        return subprocess.run(
            [str(self.environment.python), *map(str, arguments)],
            env={**kept, "HF_HUB_OFFLINE": "1", "PYTHONPATH": places, **variables},
            capture_output=True,
            text=True,
            check=False,
        )


def installed(stack: Stack, shared: Path) -> Recipes:
    """Return a stack with npu-recipes, or skip with the reason."""
    installations = Installations(shared / "npu")
    try:
        environment = stack.environment()
        packages = (stack.installed(installations, environment), stack.recipes(installations, environment))
    except Unavailable as reason:
        pytest.skip(str(reason))
    return Recipes(environment=environment, packages=packages)
