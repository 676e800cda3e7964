"""The command line: arguments → an exit code. Every error a user can cause is printed here and nowhere else."""

from __future__ import annotations

import argparse
import io
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from npu_recipes.commands.parser import Command, parser
from npu_recipes.console import Console
from npu_recipes.errors import Problem, RecipeError, lacking

_UNEXPECTED = 3
_INTERRUPTED = 130


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code, documented in ``--help``."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name in Chinese must not fail on an ASCII terminal
    if not arguments:
        parser().print_help(sys.stderr)
        return RecipeError.exit_code
    options = parser(arguments).parse_args(arguments)
    console = Console(json_output=getattr(options, "json", False))
    command: Command[Any] = options.command
    try:
        return command(options, console)
    except RecipeError as error:
        return _failure(options, console, error.problems, error.exit_code)
    except ModuleNotFoundError as error:
        return _failure(options, console, [lacking(error)], RecipeError.exit_code)
    except KeyboardInterrupt:
        console.notice("interrupted")
        return _INTERRUPTED
    except Exception as error:  # the boundary: anything else is a defect of ours
        what = f"unexpected {type(error).__name__}: {error}"
        fix = "run it again with --verbose and report what it prints"
        return _failure(options, console, [Problem(where="npu-recipes", what=what, fix=fix)], _UNEXPECTED)
    finally:
        console.close()


def _failure(options: argparse.Namespace, console: Console, problems: Sequence[Problem], code: int) -> int:
    console.problems(problems)
    if options.verbose:
        traceback.print_exc()
    return code
