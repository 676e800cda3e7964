"""Options: the arguments that several commands share, and the typed values they become."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which overlays a command line names.

    Args:
        root: the folder of overlays.
        names: names, tags or folders.
        stack: name of a stack, or empty.
        all: whether every overlay is meant.
    """

    root: Path
    names: tuple[str, ...] = ()
    stack: str = ""
    all: bool = False


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Where upstream's bytes are to come from.

    Args:
        mode: ``auto``, ``git`` or ``archive``; empty where nothing is asked for.
        clones: a clone of the user's by upstream name.
    """

    mode: str
    clones: Mapping[str, Path]


def folder(text: str) -> Path:
    """Return a folder as messages are to show it: whole, and without the way there."""
    path = Path(text).expanduser()
    # With "..", only the disk knows: one step up from a link leads elsewhere than its name says.
    return path.resolve() if ".." in path.parts else path.absolute()


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add what says which overlays are meant."""
    parser.add_argument(
        "overlay", nargs="*", metavar="OVERLAY", help="verl@796871d, with a tag verl@v0.6.1, or a folder"
    )
    parser.add_argument("--stack", metavar="NAME", help="the overlays of a stack (default: the default stack)")
    parser.add_argument("--all", action="store_true", help="every overlay, whatever is named")


def read_selection(parsed: argparse.Namespace) -> Selection:
    """Return which overlays are meant."""
    return Selection(root=parsed.overlays, names=tuple(parsed.overlay), stack=parsed.stack or "", all=parsed.all)


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Add what says where upstream's bytes are to come from."""
    parser.add_argument("--source", choices=["auto", "git", "archive"], help="auto tries git, then the release archive")
    parser.add_argument(
        "--upstream",
        action="append",
        default=[],
        type=_clone,
        metavar="NAME=PATH",
        help="a local clone that holds the commit",
    )


def read_sources(parsed: argparse.Namespace) -> Sources:
    """Return where upstream's bytes are to come from."""
    return Sources(mode=parsed.source or "", clones=dict(parsed.upstream))


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option that asks for JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON for a machine to read")


def _clone(text: str) -> tuple[str, Path]:
    """Parse ``NAME=PATH``."""
    name, separator, path = text.partition("=")
    if not separator or not name or not path:
        msg = f"`{text}` is not NAME=PATH, e.g. verl=~/src/verl"
        raise argparse.ArgumentTypeError(msg)
    return canonicalize_name(name), Path(path).expanduser().absolute()
