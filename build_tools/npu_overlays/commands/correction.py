"""Correction: problems and the command line as it was typed → their fixes with the command line that is right."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, takewhile
from pathlib import Path

from npu_overlays.errors import Problem
from npu_overlays.paths import at_home
from npu_overlays.process import without_credentials

# Options that are given once for each thing.
_REPEATED = ("--package", "--layer", "--not-built", "--upstream")


def corrected(problems: Sequence[Problem], typed: Sequence[str]) -> list[Problem]:
    """Return problems whose fixes end in the typed command line with the corrections of all, where theirs is one."""
    words = list(typed)
    for name, value in dict.fromkeys(chain.from_iterable(one.options for one in problems)):
        words = _with(words, name, value)
    if words == list(typed):
        return list(problems)
    command = without_credentials(f"npu-overlays {shlex.join(words)}")
    return [replace(one, fix=f"{one.fix}:\n        {command}") if one.options else one for one in problems]


def _with(words: Sequence[str], name: str, value: str) -> list[str]:
    """Return words with an option given, or with one of them exchanged for another one."""
    own = list(takewhile(lambda word: word != "--", words))
    rest = list(words[len(own) :])
    if not name.startswith("--"):
        return [*(_exchanged(word, name, value) for word in own), *rest]
    kept = own if name in _REPEATED else list(_without(own, name, takes_value=bool(value)))
    return [*kept, name, *([value] if value else []), *rest]


def _without(words: Sequence[str], option: str, *, takes_value: bool) -> Iterable[str]:
    before = ["", *words]
    for earlier, word in zip(before, words, strict=False):
        is_value = takes_value and earlier == option
        if word != option and not word.startswith(f"{option}=") and not is_value:
            yield word


def _exchanged(word: str, name: str, value: str) -> str:
    """Return what stands in the place of a word, which may be an option with its value: another one, or itself."""
    option, equals, given = word.partition("=") if word.startswith("--") else ("", "", word)
    is_path = Path(name).is_absolute() and at_home(given).absolute() == Path(name)
    return f"{option}{equals}{value}" if given == name or (given and is_path) else word
