"""Everywhere: importing this module records the models of a process, of Ray's workers too.

verl imports what ``VERL_USE_EXTERNAL_MODULES`` names in each of its processes::

    VERL_USE_EXTERNAL_MODULES=npu_recipes.dumps.everywhere NPU_RECIPES_DUMP='gpu-{rank}.npz' …

``NPU_RECIPES_DUMP_CALLS``, ``_SKIP``, ``_ONLY`` and ``_ELEMENTS`` stand for the other options of ``npu-recipes dump``.
Where the first variable is not set, nothing happens.
"""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING

from npu_recipes.dumps.wanted import Wanted

if TYPE_CHECKING:
    from npu_recipes.dumps.watching import Watch

VARIABLE = "NPU_RECIPES_DUMP"


def start() -> Watch | None:
    """Begin to watch where the environment asks for it; a file is written once all its forwards are through."""
    file = os.environ.get(VARIABLE, "")
    if not file:
        return None
    from npu_recipes.dumps.watching import Watch  # noqa: PLC0415  # where nothing is asked for, torch is not imported

    defaults = {"calls": Wanted.calls, "skip": Wanted.skip, "elements": Wanted.elements}
    numbers = {name: int(os.environ.get(f"{VARIABLE}_{name.upper()}", default)) for name, default in defaults.items()}
    watch = Watch(file, Wanted(only=os.environ.get(f"{VARIABLE}_ONLY", ""), **numbers))
    atexit.register(watch.finish)
    return watch


WATCH = start()
