"""The parser: what a command is made of, and the grammar of all commands with its help."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, Generic, TypeVar

from npu_recipes import __version__
from npu_recipes.console import Console
from npu_summary.suggestions import SuggestingParser

_DESCRIPTION = """\
Train with verl on Ascend NPUs from recipes, or try it on any CPU. Then compare
the run with one on GPUs.

the three most common tasks:
  npu-recipes run smoke-grpo                       a tiny model on any CPU
  npu-recipes run grpo-qwen3-8b --dry-run          the exact command, and this machine's state
  npu-recipes compare gpu.log npu.log              metric by metric, with limits
"""
EXIT_CODES = {
    "0": "done; for a comparison: within the limits",
    "1": "a comparison: beyond the limits",
    "2": "the command line or a file cannot be used; a comparison: no verdict",
    "3": "an unexpected failure; please report it with --verbose",
    "130": "interrupted",
}
_EPILOG = "\n".join(
    [
        "each command has examples: npu-recipes compare --help\n",
        "exit codes:",
        *(f"  {code}  {meaning}" for code, meaning in EXIT_CODES.items()),
    ]
)
# Names and modules, in the order of the help.
_COMMANDS = {
    "list": "recipes",
    "show": "recipes",
    "data": "data",
    "run": "run",
    "compare": "compare",
    "dump": "dump",
    "compare-dumps": "compare_dumps",
}
OptionsT = TypeVar("OptionsT")


@dataclass(frozen=True, kw_only=True)
class Command(Generic[OptionsT]):
    """One sub-command."""

    name: str  # what users type
    summary: str  # what it does, in one line without a full stop, for the list of commands
    description: str  # the text of its own help with examples, in lines of at most 80 characters
    arguments: Callable[[argparse.ArgumentParser], None]  # adds its arguments to a parser
    options: Callable[..., OptionsT]  # a dataclass whose fields have the names of these arguments
    run: Callable[[OptionsT, Console], int]  # does the work, reports, and returns the exit code; raises `RecipeError`

    def __call__(self, parsed: argparse.Namespace, console: Console) -> int:
        """Run the command with what was parsed and return the exit code; raises `RecipeError`."""
        options: Any = self.options
        return self.run(options(**{one.name: getattr(parsed, one.name) for one in fields(options)}), console)


class _Parser(SuggestingParser):
    """A parser that accepts overrides anywhere on the command line; argparse itself does in one place only."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        parsed, rest = self.parse_known_args(args, namespace)
        if rest and not hasattr(parsed, "overrides"):
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        if rest:
            parsed.overrides = [*parsed.overrides, *rest]
        return parsed

    def parse_known_args(self, *given: Any, **named: Any) -> tuple[Any, list[str]]:
        """Refuse unknown options here, not in the parser above, which cannot suggest this command's options."""
        parsed, rest = super().parse_known_args(*given, **named)
        unknown = [word for word in rest if word.startswith("-")]
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, rest


def parser(arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser; `command` of what it parses is the `Command` to call.

    Args:
        arguments: what is to be parsed. If they begin with a command, only that command's module is imported.
    """
    root = _Parser(
        prog="npu-recipes",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"npu-recipes {__version__}")
    common = _Parser(add_help=False)
    common.add_argument("-v", "--verbose", action="store_true", help="show the traceback of an error")
    subparsers = root.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in _commands(arguments):
        own = subparsers.add_parser(
            command.name,
            parents=[common],
            help=command.summary,
            description=command.description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.arguments(own)
        own.set_defaults(command=command)
    return root


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option that asks for JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON for a machine to read")


def _commands(arguments: Sequence[str]) -> Iterator[Command[Any]]:
    wanted = [name for name in arguments[:1] if name in _COMMANDS]
    for name in wanted or _COMMANDS:
        module = import_module(f"npu_recipes.commands.{_COMMANDS[name]}")
        yield module.COMMANDS[name]
