"""Everywhere: importing this module records the models of a process, of Ray's workers too.

verl imports what ``VERL_USE_EXTERNAL_MODULES`` names in each of its processes::

    VERL_USE_EXTERNAL_MODULES=npu_recipes.dumps.everywhere NPU_RECIPES_DUMP='gpu-{rank}.npz' …

``NPU_RECIPES_DUMP_CALLS``, ``_SKIP``, ``_ONLY`` and ``_ELEMENTS`` stand for the other options of ``npu-recipes dump``.
Where the first variable is not set, nothing happens.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from npu_recipes.console import Console
from npu_recipes.dumps.request import Wanted, file_of, problems_of
from npu_recipes.errors import Problem, RecipeError

if TYPE_CHECKING:
    from npu_recipes.dumps.watch import Watch

VARIABLE = "NPU_RECIPES_DUMP"


def start() -> Watch | None:
    """Begin to watch where the environment asks for it; a file is written once all its forwards are through.

    Raises:
        SystemExit: with 2, after saying why, where a variable asks for what cannot be.
    """
    name = os.environ.get(VARIABLE, "")
    if not name:
        return None
    try:
        wanted, file = _wanted(name, os.environ)
    except RecipeError as error:
        # The importing program must not train without the recording that it was asked for.
        Console(json_output=False).problems(error.problems)
        raise SystemExit(error.exit_code) from None
    from npu_recipes.dumps.watch import Watch  # noqa: PLC0415  # where nothing is asked for, torch is not imported

    watch = Watch(file, wanted)
    atexit.register(watch.finish)
    return watch


def _wanted(name: str, environ: Mapping[str, str]) -> tuple[Wanted, Path]:
    """Return what the variables ask for, and the file; raises `RecipeError` with every value that is impossible."""
    problems: list[Problem] = []
    defaults = Wanted()
    wanted = Wanted(
        calls=_number("calls", defaults.calls, environ, problems),
        skip=_number("skip", defaults.skip, environ, problems),
        elements=_number("elements", defaults.elements, environ, problems),
        only=environ.get(_variable("only"), defaults.only),
    )
    problems += problems_of(wanted, lambda name, value: f"{_variable(name)}={value}")
    try:
        file = file_of(name, f"{VARIABLE}={name}", environ)
    except RecipeError as error:
        problems += error.problems
    if problems:
        raise RecipeError(problems)
    return wanted, file


def _number(name: str, default: int, environ: Mapping[str, str], problems: list[Problem]) -> int:
    text = environ.get(_variable(name), "").strip()
    try:
        return int(text) if text else default
    except ValueError:
        fix = f"give a whole number, such as {default}"
        problems.append(Problem(where=f"{_variable(name)}={text}", what="is no whole number", fix=fix))
        return default


def _variable(name: str) -> str:
    return f"{VARIABLE}_{name.upper()}"


WATCH = start()
