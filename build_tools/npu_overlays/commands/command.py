"""Commands: the parts of a sub-command, and the arguments that several share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from packaging.utils import canonicalize_name

from npu_overlays.commands.console import Console
from npu_overlays.files import temporaries
from npu_overlays.overlay.overlay_folders import overlay_folders
from npu_overlays.overlay.source_choice import SOURCE_VARIABLE, Choice, choice_from
from npu_overlays.overlay.stacks import load_stacks
from npu_overlays.paths import at_home
from npu_overlays.sources.pin import clone_variable
from npu_overlays.sources.tree import Mode

REPLACE = "replace a file of the same version that has other bytes; only for one that nobody has installed"


@dataclass(frozen=True, kw_only=True)
class Command:
    """One sub-command, whose module has everything else.

    The module has a `SUMMARY`, one line without full stop for the list of commands; a `DESCRIPTION`, its help in lines
    of at most 80 characters; `Options`, a dataclass whose fields are its arguments in the order of the help; and `run`,
    which does the work, reports, and returns the exit code.
    """

    name: str  # as it is typed
    module: Any

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return str(self.module.SUMMARY)

    @property
    def verbose(self) -> str:
        """What its `--verbose` does."""
        return str(getattr(self.module, "VERBOSE", "show the traceback of an error"))

    @property
    def untried(self) -> int | None:
        """The exit code of every failure, where the codes of its own say what it found."""
        return getattr(self.module, "UNTRIED", None)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add its arguments to a parser."""
        alternatives = None
        for one in fields(self.module.Options):
            add, alternative = one.metadata.get("add"), one.metadata.get("alternative")
            if alternative:
                alternatives = alternatives or parser.add_mutually_exclusive_group(required=alternative == "required")
            if add:
                add(alternatives if alternative else parser, one.name)

    def __call__(self, parsed: argparse.Namespace, console: Console) -> int:
        """Run the command with what was parsed and return the exit code; raises `OverlayError`.

        Its temporary files lie in one folder, which is gone afterwards, unless the module makes none.
        """
        with temporaries() if getattr(self.module, "TIDY", True) else nullcontext():
            code: int = self.module.run(self.read(parsed), console)
            return code

    def read(self, parsed: argparse.Namespace) -> Any:
        """Return what was parsed as the module's `Options`."""
        given = {one.name: getattr(parsed, one.name) for one in fields(self.module.Options) if one.name in parsed}
        return self.module.Options(**given)


def option(
    *names: str,
    alternative: Literal["optional", "required"] | None = None,
    offered: Callable[[Path], Iterable[str]] | None = None,
    **settings: Any,
) -> Any:  # what the field holds
    """Return a field of options that an argument fills.

    Args:
        names: of the option; none for a positional argument.
        alternative: of all alternatives of a command one can be given, or has to be.
        offered: returns the words that complete it, given the folder of overlays.
        settings: as `argparse` takes them.
    """

    def add(parser: argparse.ArgumentParser, name: str) -> None:
        argument = (
            parser.add_argument(*names, dest=name, **settings) if names else parser.add_argument(name, **settings)
        )
        if offered:
            argument.completer = completer  # type: ignore[attr-defined]  # where argcomplete looks for it

    def completer(parsed_args: argparse.Namespace, **_: object) -> list[str]:
        return sorted(offered(Path(parsed_args.root))) if offered else []

    return field(metadata={"add": add, "alternative": alternative})


def text_option(name: str, metavar: str, help: str, **more: Any) -> Any:  # noqa: A002  # as argparse calls it
    """Return a field for a text, empty where the option is not given."""
    return option(name, default="", metavar=metavar, help=help, **more)


def list_option(name: str, metavar: str, help: str, **more: Any) -> Any:  # noqa: A002  # likewise
    """Return a field for the values of an option that may be given several times."""
    return option(name, action="append", default=[], metavar=metavar, help=help, **more)


def path_option(name: str, metavar: str, help: str, **more: Any) -> Any:  # noqa: A002  # likewise
    """Return a field for a file or folder, as `whole_path` gives it."""
    return option(name, type=whole_path, metavar=metavar, help=help, **more)


def flag(name: str, help: str, **more: Any) -> Any:  # noqa: A002  # likewise
    """Return a field that is true where an option is given."""
    return option(name, action="store_true", help=help, **more)


def overlays(root: Path) -> list[str]:
    """Return the names of the overlays in a folder."""
    return [folder.name for folder in overlay_folders(root)]


def json_option() -> Any:
    """Return a field that asks for JSON."""
    return flag("--json", "print JSON for a machine to read")


def overlay_option(**settings: Any) -> Any:
    """Return a field for the name of an overlay, or of several."""
    text = "the name of an overlay (verl@d62da49, or by its tag verl@v0.6.1), or its folder"
    return option(metavar="OVERLAY", help=text, offered=overlays, **settings)


def packages_option(text: str) -> Any:
    """Return a field for the paths that are shipped, each with its import name where one is given."""
    return list_option("--package", "PATH[=NAME]", text, type=_package)


def not_built_option(text: str) -> Any:
    """Return a field for what upstream builds and a wheel may lack."""
    return list_option("--not-built", "GLOB", text)


def clones_option() -> Any:
    """Return a field for the clones to take commits from, by project."""
    text = "take the commit from a local clone, bare or checked out at it"
    return list_option("--upstream", "NAME=PATH", text, type=_clone)


def whole_path(text: str) -> Path:
    """Return a folder as messages are to show it: whole, and without the way there."""
    path = at_home(text)
    # With "..", only the disk knows: one step up from a link leads elsewhere than its name says.
    return path.resolve() if ".." in path.parts else path.absolute()


def one_line(text: str) -> str:
    """Return a text with single spaces between its words."""
    return " ".join(text.split())


def _package(text: str) -> tuple[str, str]:
    """Return the path of a package, and the name it is imported by where one is given."""
    path, _, name = text.partition("=")
    return path, name


def choice_of(mode: Mode | None, clones: Iterable[tuple[str, Path]]) -> Choice:
    """Return where upstreams are to come from: as the options say, else the variables that stand for them."""
    variables = {name: value for name, value in os.environ.items() if name != SOURCE_VARIABLE or not mode}
    choice = choice_from(variables)
    named = {clone_variable(project): path for project, path in clones}
    choice = replace(choice, clones={**choice.clones, **named})
    return replace(choice, mode=mode, where="--source") if mode else choice


def _clone(text: str) -> tuple[str, Path]:
    """Parse ``NAME=PATH``."""
    name, separator, path = text.partition("=")
    if not separator or not name or not path:
        msg = f"`{text}` is not NAME=PATH, e.g. verl=~/src/verl"
        raise argparse.ArgumentTypeError(msg)
    return canonicalize_name(name), at_home(path).absolute()


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which overlays a command line names, and where their upstreams are to come from."""

    root: Path  # the folder of overlays
    overlay: list[str] = overlay_option(nargs="*")
    stack: str = text_option(
        "--stack",
        "NAME",
        "the overlays of a stack (default: the default stack)",
        offered=lambda root: [one.name for one in load_stacks(root).stacks],
    )
    all: bool = flag("--all", "every overlay; names are then ignored")
    source: Mode | None = option(
        "--source", choices=["auto", "git", "archive"], help="auto tries git, then the release archive"
    )
    upstream: list[tuple[str, Path]] = clones_option()

    @property
    def choice(self) -> Choice:
        """Where upstreams are to come from; raises `UsageError` if a variable asks for an unknown kind of source."""
        return choice_of(self.source, self.upstream)


@dataclass(frozen=True, kw_only=True)
class OneOverlay(Selection):
    """Which one overlay a command line names, and where its upstream is to come from."""

    overlay: list[str] = overlay_option(nargs=1)
    stack: str = ""
    all: bool = False

    @property
    def name(self) -> str:
        """The name as it was typed."""
        return self.overlay[0]
