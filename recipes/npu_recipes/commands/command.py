"""Commands: what a sub-command is made of, and how one that was parsed is called."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from npu_recipes.console import Console

OptionsT = TypeVar("OptionsT")


@dataclass(frozen=True, kw_only=True)
class Command(Generic[OptionsT]):
    """One sub-command.

    Args:
        name: as it is typed.
        summary: what it does, in one line without a full stop, for the list of commands.
        description: what its own help teaches, in lines of at most 80 characters.
        arguments: adds its arguments to a parser.
        read: makes its options of what was parsed; raises `RecipeError`.
        run: does the work, reports, and returns the exit code; raises `RecipeError`.
    """

    name: str
    summary: str
    description: str
    arguments: Callable[[argparse.ArgumentParser], None]
    read: Callable[[argparse.Namespace], OptionsT]
    run: Callable[[OptionsT, Console], int]

    def __call__(self, parsed: argparse.Namespace, console: Console) -> int:
        """Run the command with what was parsed and return the exit code; raises `RecipeError`."""
        return self.run(self.read(parsed), console)
