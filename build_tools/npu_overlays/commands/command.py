"""Commands: what a sub-command is made of, and the arguments that several share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from packaging.utils import canonicalize_name

from npu_overlays.commands.completion import offer, overlays, stacks
from npu_overlays.commands.console import Console
from npu_overlays.files import temporaries
from npu_overlays.overlay.source_choice import SOURCE_VARIABLE, Choice, choice_from
from npu_overlays.paths import at_home
from npu_overlays.sources.pin import clone_variable
from npu_overlays.sources.tree import Mode

OptionsT = TypeVar("OptionsT")
REPLACE = "take the place of files of the same version with other bytes, which nobody has installed"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which overlays a command line names, and where their upstreams are to come from."""

    root: Path  # the folder of overlays
    names: tuple[str, ...] = ()  # names, tags or folders
    stack: str = ""  # name of a stack, or empty
    all: bool = False  # whether every overlay is meant
    clones: tuple[str, ...] = ()  # the projects with a clone on the command line; each must be upstream of one of them
    choice: Choice  # where upstreams are to come from


@dataclass(frozen=True, kw_only=True)
class Command(Generic[OptionsT]):
    """One sub-command."""

    name: str  # as it is typed
    summary: str  # what it does, in one line without a full stop, for the list of commands
    description: str  # what its own help teaches, in lines of at most 80 characters
    arguments: Callable[[argparse.ArgumentParser], None]  # adds its arguments to a parser
    # Checks what was parsed, and adds values that are not arguments; raises `OverlayError`.
    check: Callable[[argparse.Namespace], None] | None = None
    options: Callable[
        ..., OptionsT
    ]  # a dataclass whose fields are called as what was parsed; a `Selection` is made here
    run: Callable[[OptionsT, Console], int]  # does the work, reports, and returns the exit code; raises `OverlayError`
    untried: int | None = None  # the exit code of every failure, where the codes of its own say what it found
    tidy: bool = True  # whether its temporary files lie in one folder, which is gone afterwards

    def read(self, parsed: argparse.Namespace) -> OptionsT:
        """Return the options of what was parsed; raises `OverlayError`."""
        if self.check:
            self.check(parsed)
        options: Any = self.options
        names = [one.name for one in fields(options)]
        if "selection" in names:
            parsed.selection = read_selection(parsed)
        return self.options(**{name: getattr(parsed, name) for name in names})

    def __call__(self, parsed: argparse.Namespace, console: Console) -> int:
        """Run the command with what was parsed and return the exit code; raises `OverlayError`."""
        with temporaries() if self.tidy else nullcontext():
            return self.run(self.read(parsed), console)


def folder(text: str) -> Path:
    """Return a folder as messages are to show it: whole, and without the way there."""
    path = at_home(text)
    # With "..", only the disk knows: one step up from a link leads elsewhere than its name says.
    return path.resolve() if ".." in path.parts else path.absolute()


def one_line(text: str) -> str:
    """Return a text with single spaces between its words."""
    return " ".join(text.split())


def package(text: str) -> tuple[str, str]:
    """Return the path of a package, and the name it is imported by where one is given."""
    path, _, name = text.partition("=")
    return path, name


def add_overlay(parser: argparse.ArgumentParser, *, nargs: str | None = None) -> None:
    """Add the name of an overlay, or of several."""
    text = "verl@796871d, with a tag verl@v0.6.1, or a folder"
    offer(parser.add_argument("overlay", nargs=nargs, metavar="OVERLAY", help=text), overlays)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add what says which overlays are meant, and where their upstreams are to come from."""
    add_overlay(parser, nargs="*")
    stack = parser.add_argument("--stack", metavar="NAME", help="the overlays of a stack (default: the default stack)")
    offer(stack, stacks)
    parser.add_argument("--all", action="store_true", help="every overlay, even if others are named")
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
    several = isinstance(parsed.overlay, list)
    return Selection(
        root=parsed.root,
        names=tuple(parsed.overlay) if several else (parsed.overlay,),
        stack=(several and parsed.stack) or "",
        all=several and parsed.all,
        clones=tuple(clones),
        choice=choice_of(parsed.source, clones),
    )


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
