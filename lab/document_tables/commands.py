"""Parsers of the command lines → every command with its arguments; environment variables; exit codes."""

from __future__ import annotations

import json
import re
from argparse import Action, ArgumentParser
from collections.abc import Iterable, Mapping
from pathlib import Path

from document_tables.markdown import table
from document_tables.parsers import arguments_of, commands_of, explained, of_every_command, typed
from npu_overlays.commands import parser as overlays
from npu_recipes.commands import parser as recipes

_HEADS = {
    "argument": {"en": ("argument", "meaning"), "zh": ("参数", "含义")},
    "code": {"en": ("code", "meaning"), "zh": ("退出码", "含义")},
    "variable": {"en": ("variable", "meaning"), "zh": ("变量", "含义")},
}
# English → Chinese, of everything but the arguments: their text is the one that the help prints.
_CHINESE: dict[str, str] = json.loads(Path(__file__).with_name("chinese.json").read_text("utf-8"))
_CODE = re.compile(r"`[^`]*`|(?<![\w-])--[a-z][a-z-]*")


def tables(language: str) -> dict[str, str]:
    """Return the tables by name, in a language: `en` or `zh`; raises `KeyError` for a text without its Chinese."""
    own, training = commands_of(overlays.parser()), commands_of(recipes.parser())
    groups = []
    for group, names in overlays.GROUPS.items():
        sections = _sections("#### npu-overlays", own, names, language)
        groups.append(f"### {_in(language, group.capitalize())}\n\n{sections}")
    return {
        "commands": "\n".join(groups),
        "training_commands": _sections("### npu-recipes", training, training, language),
        "arguments": _arguments(of_every_command(own), language),
        "variables": _meanings("variable", overlays.VARIABLES, language),
        "codes": _meanings("code", overlays.EXIT_CODES, language),
        "training_codes": _meanings("code", recipes.EXIT_CODES, language),
    }


def _sections(heading: str, commands: Mapping[str, ArgumentParser], names: Iterable[str], language: str) -> str:
    """Return a section for each name: what the command does, and the arguments that not every command takes so."""
    common = {(typed(one), explained(one)) for one in of_every_command(commands)}
    sections = []
    for name in names:
        parser = commands[name]
        summary = _in(language, parser.get_default("command").summary)
        sentence = f"{summary}。" if language == "zh" else f"{summary[0].upper()}{summary[1:]}."
        own = [one for one in arguments_of(parser) if (typed(one), explained(one)) not in common]
        sections.append(f"{heading} {name}\n\n{sentence}\n" + (f"\n{_arguments(own, language)}" if own else ""))
    return "\n".join(sections)


def _arguments(actions: Iterable[Action], language: str) -> str:
    return table(_HEADS["argument"][language], ((f"`{typed(one)}`", _cell(explained(one))) for one in actions))


def _meanings(head: str, meanings: Mapping[str, str], language: str) -> str:
    rows = ((f"`{name}`", _cell(_in(language, meaning))) for name, meaning in meanings.items())
    return table(_HEADS[head][language], rows)


def _cell(text: str) -> str:
    """Return a text of the help as a cell, its options as code."""
    return _CODE.sub(lambda found: f"`{found[0].strip('`')}`", text)


def _in(language: str, text: str) -> str:
    return text if language == "en" else _CHINESE[text]
