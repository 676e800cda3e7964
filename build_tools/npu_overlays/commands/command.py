"""Commands: what a sub-command is made of, and how one that was parsed is called."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Generic, TypeVar

from npu_overlays.commands.console import Console
from npu_overlays.files import temporaries

OptionsT = TypeVar("OptionsT")


@dataclass(frozen=True, kw_only=True)
class Command(Generic[OptionsT]):
    """One sub-command.

    Args:
        name: as it is typed.
        summary: what it does, in one line without a full stop, for the list of commands.
        description: what its own help teaches, in lines of at most 80 characters.
        arguments: adds its arguments to a parser.
        read: makes its options of what was parsed; raises `OverlayError`.
        run: does the work, reports, and returns the exit code; raises `OverlayError`.
        untried: the exit code of every failure, where the codes of its own say what it found.
        tidy: whether its temporary files lie in one folder, which is gone afterwards.
    """

    name: str
    summary: str
    description: str
    arguments: Callable[[argparse.ArgumentParser], None]
    read: Callable[[argparse.Namespace], OptionsT]
    run: Callable[[OptionsT, Console], int]
    untried: int | None = None
    tidy: bool = True

    def __call__(self, parsed: argparse.Namespace, console: Console) -> int:
        """Run the command with what was parsed and return the exit code; raises `OverlayError`."""
        with temporaries() if self.tidy else nullcontext():
            return self.run(self.read(parsed), console)
