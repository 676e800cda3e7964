"""Options: the arguments that several commands share, and the typed values they become."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.utils import canonicalize_name

from npu_overlays.commands.completion import offer, overlays, stacks
from npu_overlays.overlay.source_choice import SOURCE_VARIABLE, Choice, choice_from
from npu_overlays.paths import at_home
from npu_overlays.sources.pin import clone_variable
from npu_overlays.sources.tree import Mode

REPLACE = "take the place of files of the same version with other bytes, which nobody has installed"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which overlays a command line names, and where their upstreams are to come from.

    Args:
        root: the folder of overlays.
        names: names, tags or folders.
        stack: name of a stack, or empty.
        all: whether every overlay is meant.
        clones: the projects of which it names a clone; each must be the upstream of one of them.
        choice: where upstreams are to come from.
    """

    root: Path
    names: tuple[str, ...] = ()
    stack: str = ""
    all: bool = False
    clones: tuple[str, ...] = ()
    choice: Choice


def folder(text: str) -> Path:
    """Return a folder as messages are to show it: whole, and without the way there."""
    path = at_home(text)
    # With "..", only the disk knows: one step up from a link leads elsewhere than its name says.
    return path.resolve() if ".." in path.parts else path.absolute()


def add_overlay(parser: argparse.ArgumentParser, *, nargs: str | None = None) -> None:
    """Add the name of an overlay, or of several."""
    text = "verl@796871d, with a tag verl@v0.6.1, or a folder"
    offer(parser.add_argument("overlay", nargs=nargs, metavar="OVERLAY", help=text), overlays)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add what says which overlays are meant, and where their upstreams are to come from."""
    add_overlay(parser, nargs="*")
    stack = parser.add_argument("--stack", metavar="NAME", help="the overlays of a stack (default: the default stack)")
    offer(stack, stacks)
    parser.add_argument("--all", action="store_true", help="every overlay, whatever is named")
    _add_sources(parser)


def add_one(parser: argparse.ArgumentParser) -> None:
    """Add what says which one overlay is meant, and where its upstream is to come from."""
    add_overlay(parser)
    _add_sources(parser)


def _add_sources(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", choices=["auto", "git", "archive"], help="auto tries git, then the release archive")
    add_clones(parser)


def add_clones(parser: argparse.ArgumentParser) -> None:
    """Add the option that names clones to take commits from."""
    parser.add_argument(
        "--upstream",
        action="append",
        default=[],
        type=_clone,
        metavar="NAME=PATH",
        help="a local clone that holds the commit",
    )


def read_selection(parsed: argparse.Namespace) -> Selection:
    """Return which overlays are meant; raises `UsageError` where a variable asks for an unknown kind of source."""
    clones: dict[str, Path] = dict(parsed.upstream)
    return Selection(
        root=parsed.overlays,
        names=tuple(parsed.overlay),
        stack=parsed.stack or "",
        all=parsed.all,
        clones=tuple(clones),
        choice=choice_of(parsed.source, clones),
    )


def read_one(parsed: argparse.Namespace) -> Selection:
    """Return which one overlay is meant; raises `UsageError` where a variable asks for an unknown kind of source."""
    clones: dict[str, Path] = dict(parsed.upstream)
    choice = choice_of(parsed.source, clones)
    return Selection(root=parsed.overlays, names=(parsed.overlay,), clones=tuple(clones), choice=choice)


def choice_of(mode: Mode | None, clones: Mapping[str, Path]) -> Choice:
    """Return where upstreams are to come from: as the options say, else the variables that stand for them."""
    variables = {name: value for name, value in os.environ.items() if name != SOURCE_VARIABLE or not mode}
    choice = choice_from(variables)
    named = {clone_variable(project): path for project, path in clones.items()}
    choice = replace(choice, clones={**choice.clones, **named})
    return replace(choice, mode=mode, where="--source") if mode else choice


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option that asks for JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON for a machine to read")


def _clone(text: str) -> tuple[str, Path]:
    """Parse ``NAME=PATH``."""
    name, separator, path = text.partition("=")
    if not separator or not name or not path:
        msg = f"`{text}` is not NAME=PATH, e.g. verl=~/src/verl"
        raise argparse.ArgumentTypeError(msg)
    return canonicalize_name(name), at_home(path).absolute()
