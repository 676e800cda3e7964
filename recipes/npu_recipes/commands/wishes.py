"""Wishes: the options of a run that say what its environment is to be."""

from __future__ import annotations

import argparse

from npu_recipes.files import at_home
from npu_recipes.launching.environment import AUTO, Wishes

# A value that may be left out: argparse takes what follows for it, as the name of a recipe is.
_BEHIND = "write --{0}={1}, or --{0} behind all else"


def add_wishes(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("environment")
    group.add_argument(
        "--expandable-segments",
        action="store_true",
        help="virtual memory while training, none while an engine generates (EXPANDABLE_SEGMENTS)",
    )
    text = "preload jemalloc, found or named"
    group.add_argument("--jemalloc", nargs="?", const=AUTO, type=_library, metavar="=FILE", help=text)
    text = "compute the same each time (slower)"
    group.add_argument("--deterministic", nargs="?", const=0, type=_seed, metavar="=SEED", help=text)


def read_wishes(parsed: argparse.Namespace) -> Wishes:
    """Return what was asked for."""
    return Wishes(
        jemalloc=parsed.jemalloc or "", expandable=parsed.expandable_segments, deterministic=parsed.deterministic
    )


def _library(text: str) -> str:
    # What looks like an override may be a file all the same.
    override = "=" in text and not at_home(text).is_file()
    if override or not ("/" in text or ".so" in text or text == AUTO):
        raise argparse.ArgumentTypeError(f"`{text}` is no file of a library: {_BEHIND.format('jemalloc', 'FILE')}")
    return text


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"`{text}` is no seed: {_BEHIND.format('deterministic', 'SEED')}")
    return int(text)
