"""The command: parse, call, report. Every error a user can cause is printed here and nowhere else."""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Sequence

from npu_overlays.arguments import Command, parser
from npu_overlays.errors import OverlayError, Problem
from npu_overlays.pipeline import SOURCE_VARIABLE
from npu_overlays.progress import told_to
from npu_overlays.report import Console
from npu_overlays.source import override_variable


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code, documented in ``--help``."""
    options = parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a reason in Chinese must not fail on an ASCII terminal
    console = Console(json_output=getattr(options, "json", False))
    try:
        _apply_source_options(options)
        with told_to(console.step), console:
            command: Command = options.run
            return command(options, console)
    except OverlayError as error:
        console.problems(error.problems)
        return _failure(options, error.exit_code)
    except BrokenPipeError:
        # The reader has seen enough; without this the interpreter would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # the boundary: anything else is a defect of ours, said in one line
        console.problems(
            [
                Problem(
                    where="npu-overlays",
                    what=f"unexpected {type(error).__name__}: {error}",
                    fix="run it again with --verbose and report what it prints",
                )
            ]
        )
        return _failure(options, 1)


def _failure(options: argparse.Namespace, code: int) -> int:
    if options.verbose:
        traceback.print_exc()
    return code


def _apply_source_options(options: argparse.Namespace) -> None:
    """Pass the source options on the way a PEP 517 front end has to: through the environment."""
    if getattr(options, "source", None):
        os.environ[SOURCE_VARIABLE] = options.source
    for name, path in getattr(options, "upstream", ()):
        os.environ[override_variable(name)] = str(path)
