"""Parser: the grammar of all commands, and its help."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from npu_overlays import version
from npu_overlays.commands.command import Command, whole_path
from npu_overlays.overlay.overlay_folders import overlay_folders
from npu_summary.suggestions import SuggestingParser

_DESCRIPTION = """\
Build wheels from overlays: a pinned upstream commit or release, into which the
changes of an overlay are merged at packaging time. Nothing is patched at run
time.

the three most common tasks:
  npu-overlays build                            the wheels of the default stack, into wheels/
  npu-overlays show verl@0.9.1                  what an overlay changes, and why
  npu-overlays check verl@0.9.1                 after an edit: does it still fit upstream?
"""
# In the order of the help; each is a module of this package.
GROUPS = {
    "build and publish": ("build", "verify-wheel", "index", "site", "sdist", "revise", "reproduce"),
    "look": ("list", "show", "summary", "diff"),
    "change an overlay": ("checkout", "refresh", "lock", "check", "bisect", "export"),
    "start an overlay": ("init", "import-patches"),
    "follow upstream": ("port", "follow", "drift"),
    "operate": ("matrix", "cache"),
}
EXIT_CODES = {
    "0": "done",
    "1": "an unexpected failure; please report it with --verbose",
    "2": "the command line, or a variable that replaces an option, is wrong",
    "3": "an overlay's pyproject.toml or overlay.lock, or a stack, is wrong, or there is no such overlay",
    "4": "the pinned upstream cannot be fetched, or differs from the pin",
    "5": "the overlay does not fit the upstream source",
    "6": "a file cannot be written, or is not a wheel of ours",
    "7": "of import-patches: the overlays are written, and a build refuses them until they are corrected",
    "130": "interrupted (143 by SIGTERM, 129 by SIGHUP)",
}
VARIABLES = {
    "NPU_OVERLAYS_ANEW": "any value: merge again and ignore the cache, like build --force",
    "NPU_OVERLAYS_CACHE": "the folder of the cache",
    "NPU_OVERLAYS_PATIENCE": "seconds to wait for a connection that gets no answer (20)",
    "NPU_OVERLAYS_SOURCE": "auto (git, then the release archive), git or archive, like --source",
    "<PROJECT>_PATH": "your clone of that project, such as VERL_PATH, like --upstream",
    "PIP_INDEX_URL, …": "pip's own: the index that release archives come from",
    "SOURCE_DATE_EPOCH": "the date of a development build, in seconds since 1970",
    "NO_COLOR": "any value: no colours",
}
_WIDTH, _INDENT = 80, 18  # columns of the help, and those before what a command does
_COMMANDS = [*chain.from_iterable(GROUPS.values())]


class _Parser(SuggestingParser):
    """A parser that checks the arguments of a command itself."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse unknown arguments here, not in the parser above, which could not suggest this command's options."""
        parsed, rest = super().parse_known_args(args, namespace)
        if len(rest) == 1 and self._takes_late(parsed, rest[0]):
            return parsed, []
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return parsed, rest

    def error(self, message: str) -> NoReturn:
        """Exit with 2; of an option before the command, say that it follows the command."""
        first = next(iter(self._typed), "")
        if first.startswith("-") and message.startswith("argument COMMAND: invalid choice"):
            message = f"options follow the command: {self.prog} COMMAND {first} …"
        super().error(message)

    def _takes_late(self, parsed: argparse.Namespace, word: str) -> bool:
        """Give a word behind the options to the optional argument that has none yet; return whether there is one.

        Before Python 3.12.7, argparse looks for its value only among the words beside the other arguments.
        """
        optional = [one for one in self._positionals._group_actions if one.nargs == "?"]
        if word.startswith("-") or not optional or getattr(parsed, optional[0].dest) is not optional[0].default:
            return False
        try:
            setattr(parsed, optional[0].dest, self._get_values(optional[0], [word]))
        except argparse.ArgumentError as error:
            self.error(str(error))
        return True


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help that keeps the line ends of texts."""

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        """Write the words of a command behind `--` as one command and its arguments."""
        if str(action.metavar).startswith("-- "):
            return f"{action.metavar} [ARGUMENT ...]"
        return super()._format_args(action, default_metavar)


class _Version(argparse.Action):
    """Print the version; argparse's own action would need it when the parser is made."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        sys.stdout.write(f"npu-overlays {version()}\n")
        parser.exit()


def parser(arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser; `command` of what it parses is the `Command` to call.

    Args:
        arguments: what is to be parsed. Where they begin with a command, the parser knows no other: to import them
            all takes longer than what most of them do.
    """
    commands = _commands(arguments)
    root = _Parser(
        prog="npu-overlays",
        usage="npu-overlays [-h] [--version] COMMAND ...",
        description=_DESCRIPTION,
        epilog=_epilog(commands),
        formatter_class=_Help,
    )
    root.add_argument("--version", action=_Version, nargs=0, help="show program's version number and exit")
    subparsers = root.add_subparsers(required=True, prog="npu-overlays", metavar="COMMAND", help=argparse.SUPPRESS)
    for command in commands:
        own = subparsers.add_parser(
            command.name,
            parents=[_common(command.verbose)],
            description=command.module.DESCRIPTION,
            formatter_class=_Help,
        )
        command.add_arguments(own)
        own.set_defaults(command=command)
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what can come next
        import argcomplete  # noqa: PLC0415  # of use only then

        argcomplete.autocomplete(root)
    return root


def _epilog(commands: Iterable[Command]) -> str:
    """Return what follows the options in the help of all commands."""
    parts = [f"{_listed(commands)}each command has examples: npu-overlays build --help\n", "exit codes:"]
    parts += [f"  {code}  {meaning}" for code, meaning in EXIT_CODES.items()]
    parts.append("`reproduce` has exit codes of its own, which its help lists")
    parts.append("\nenvironment:")
    parts += [f"  {name:<23}  {meaning}" for name, meaning in VARIABLES.items()]
    return "\n".join(parts)


def _listed(commands: Iterable[Command]) -> str:
    """Return the commands with what each does, in their groups."""
    summaries = {command.name: command.summary for command in commands}
    text = ""
    for group, names in GROUPS.items():
        text += f"{group}:\n"
        for name in names:
            lines = textwrap.wrap(summaries.get(name, ""), _WIDTH - _INDENT)
            text += textwrap.indent("\n".join(lines), " " * _INDENT).replace(" " * _INDENT, f"  {name:<15} ", 1)
            text += "\n"
        text += "\n"
    return text


def _commands(arguments: Sequence[str]) -> list[Command]:
    commands: list[Command] = []
    for name in [name for name in arguments[:1] if name in _COMMANDS] or _COMMANDS:
        module = import_module(f"npu_overlays.commands.{name.replace('-', '_')}")
        commands.append(Command(name=name, module=module))
    return commands


def _common(verbose: str) -> _Parser:
    """Return the arguments that every command takes, with what `--verbose` does."""
    common = _Parser(add_help=False)
    text = "folder of overlays (default: overlays, else the current folder if it holds overlays)"
    common.add_argument("--overlays", dest="root", type=whole_path, default=_usual_root(), metavar="DIR", help=text)
    common.add_argument("-v", "--verbose", action="store_true", help=verbose)
    return common


def _usual_root() -> str:
    """Return the folder of overlays if none is named: `init` writes into the current folder if there is no other."""
    return "." if not Path("overlays").is_dir() and overlay_folders(Path()) else "overlays"
