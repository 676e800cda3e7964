"""Commands: what a sub-command is made of, and how one that was parsed is called."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Generic, TypeVar

from npu_overlays.console import Console
from npu_overlays.scratch import temporaries

OptionsT = TypeVar("OptionsT")


@dataclass(frozen=True, kw_only=True)
class Command(Generic[OptionsT]):
    """One sub-command."""

    name: str  # as it is typed
    summary: str  # what it does, in one line without a full stop, for the list of commands
    description: str  # what its own help teaches, in lines of at most 80 characters
    arguments: Callable[[argparse.ArgumentParser], None]  # adds its arguments to a parser
    read: Callable[[argparse.Namespace], OptionsT]  # makes its options of what was parsed; raises `OverlayError`
    run: Callable[[OptionsT, Console], int]  # does the work, reports, and returns the exit code; raises `OverlayError`
    untried: int | None = None  # the exit code of every failure, where the codes of its own say what it found
    tidy: bool = True  # whether its temporary files lie in one folder, which is gone afterwards

    def __call__(self, parsed: argparse.Namespace, console: Console) -> int:
        """Run the command with what was parsed and return the exit code; raises `OverlayError`."""
        with temporaries() if self.tidy else nullcontext():
            return self.run(self.read(parsed), console)
