"""Completion: a command line half typed → what can come next; any shell that argcomplete knows asks for it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from npu_overlays.overlay.project import CONFIG_FILE
from npu_overlays.overlay.stacks import load_stacks


def answer(parser: argparse.ArgumentParser) -> None:
    """Where a shell asks, tell it what can come next and leave; else do nothing."""
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete  # noqa: PLC0415  # of use only where a shell asks

        argcomplete.autocomplete(parser)


def offer(argument: argparse.Action, words: Callable[[Path], Iterable[str]]) -> None:
    """Let an argument be completed by words that depend on the folder of overlays."""

    def completer(parsed_args: argparse.Namespace, **_: object) -> list[str]:
        return list(words(Path(parsed_args.root)))

    argument.completer = completer  # type: ignore[attr-defined]  # where argcomplete looks for it


def overlays(root: Path) -> list[str]:
    """Return the names of the overlays in a folder."""
    return sorted(file.parent.name for file in root.glob(f"*@*/{CONFIG_FILE}"))


def stacks(root: Path) -> list[str]:
    """Return the names of the stacks; raises `ConfigError`."""
    return sorted(one.name for one in load_stacks(root).stacks)
