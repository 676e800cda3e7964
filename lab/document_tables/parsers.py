"""Parsers: an `argparse` parser → its commands and their arguments."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser, HelpFormatter, _HelpAction, _SubParsersAction
from collections.abc import Mapping


def commands_of(root: ArgumentParser) -> dict[str, ArgumentParser]:
    """Return the parser of each command by its name."""
    for action in root._actions:  # argparse offers no other way to its commands
        if isinstance(action, _SubParsersAction):
            return dict(action.choices)
    raise AssertionError("there are no commands")


def of_every_command(commands: Mapping[str, ArgumentParser]) -> list[Action]:
    """Return the arguments that every command takes."""
    first, *others = (arguments_of(parser) for parser in commands.values())
    shared = [{typed(one) for one in actions} for actions in others]
    return [one for one in first if all(typed(one) in written for written in shared)]


def arguments_of(parser: ArgumentParser) -> list[Action]:
    """Return the arguments of a command, without --help."""
    return [one for one in parser._actions if not isinstance(one, _HelpAction) and one.help != SUPPRESS]


def typed(action: Action) -> str:
    """Return an argument as you type it."""
    value = str(action.metavar or (f"{{{','.join(action.choices)}}}" if action.choices else action.dest.upper()))
    if not action.option_strings:
        return f"{value} …" if action.nargs in {"*", "+"} else value
    names = ", ".join(action.option_strings)
    if action.nargs == "?":
        return f"{names}[{value}]"
    return names if action.nargs == 0 else f"{names} {value}"


def explained(action: Action) -> str:
    """Return what the help prints about an argument."""
    return HelpFormatter("")._expand_help(action) if action.help else ""  # argparse offers no other way
