"""Invocation: parse, call, report. Every error a user can cause is printed here and nowhere else."""

from __future__ import annotations

import argparse
import atexit
import gc
import io
import os
import shlex
import sys
import tempfile
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, takewhile
from pathlib import Path

from npu_overlays.commands.command import Command
from npu_overlays.commands.console import Console
from npu_overlays.commands.parser import parser
from npu_overlays.errors import OverlayError, Problem, UsageError
from npu_overlays.files import UNWRITABLE, cannot_write
from npu_overlays.interrupts import undisguised
from npu_overlays.paths import at_home
from npu_overlays.process import without_credentials
from npu_overlays.progress import told_to

_OBJECTS = 5_000_000


def run(arguments: Sequence[str] | None) -> int:
    """Run the command and return its exit code, documented in ``--help``; raises `Interrupted`."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a reason in Chinese must not fail on an ASCII terminal
    collect_seldom()
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        parser().print_help(sys.stderr)
        return UsageError.exit_code
    options = parser(given).parse_args(given)
    console = Console(json_output=getattr(options, "json", False))
    try:
        with undisguised(), told_to(console.step), console:
            command: Command = options.command
            return command(options, console)
    except OverlayError as error:
        return _failure(options, console, error, given)
    except Exception as error:  # the boundary: anything else is a full disk, or a defect of ours, said in one line
        return _failure(options, console, _unexpected(error), given)


def collect_seldom() -> None:
    """Let Python look for reference cycles seldom in this process, and never at its end.

    Syntax trees are many objects without a cycle. For `check transformers@5.10.4`, 5 million new objects between two
    searches instead of 200,000 take a quarter off the processor time (17.7 to 13.2 s) and add 4 % of memory.
    """
    gc.set_threshold(_OBJECTS)
    atexit.register(gc.freeze)


def _unexpected(error: Exception) -> OverlayError:
    if isinstance(error, OSError) and error.errno in UNWRITABLE:
        return cannot_write(Path(os.fsdecode(error.filename or tempfile.gettempdir())), error, option="TMPDIR")
    what = f"unexpected {type(error).__name__}: {error}"
    fix = "run it again with --verbose and report what it prints"
    return OverlayError(Problem(where="npu-overlays", what=what, fix=fix))


def _failure(options: argparse.Namespace, console: Console, error: OverlayError, given: Sequence[str]) -> int:
    console.problems(corrected(error.problems, given))
    if options.verbose:
        traceback.print_exc()
    command: Command = options.command
    return error.exit_code if command.untried is None else command.untried


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
    return [replace(one, fix=f"{_before(one.fix)}\n        {command}") if one.options else one for one in problems]


def _before(fix: str) -> str:
    """Return a fix as it stands before the command that carries it out."""
    return fix if fix.endswith("?") else f"{fix}:"


def _with(words: Sequence[str], name: str, value: str) -> list[str]:
    """Return words with an option given, or with one of them exchanged for another one."""
    own = list(takewhile(lambda word: word != "--", words))
    rest = list(words[len(own) :])
    if not name.startswith("--"):
        exchanged = [_exchanged(word, name, value) for word in own]
        changed = [number for number, words in enumerate(zip(own, exchanged, strict=True)) if len(set(words)) > 1]
        if Path(name).is_absolute() and changed:
            # An overlay may have the name of the folder to write, which comes behind it.
            exchanged[: changed[-1]] = own[: changed[-1]]
        return [*exchanged, *rest]
    kept = own if name in _REPEATED else list(_without(own, name, takes_value=bool(value)))
    return [*kept, name, *([value] if value else []), *rest]


def _without(words: Sequence[str], option: str, *, takes_value: bool) -> Iterable[str]:
    before = ["", *words]
    for earlier, word in zip(before, words, strict=False):
        is_value = takes_value and earlier == option
        if word != option and not word.startswith(f"{option}=") and not is_value:
            yield word


def _exchanged(word: str, name: str, value: str) -> str:
    """Return the replacement of a word, which may be an option with its value, or the word itself."""
    option, equals, given = word.partition("=") if word.startswith("--") else ("", "", word)
    is_path = Path(name).is_absolute() and at_home(given).absolute() == Path(name)
    return f"{option}{equals}{value}" if given == name or (given and is_path) else word
