"""Entry point for verl: registers the rollout of this package where a run asks for it, and does nothing elsewhere.

verl imports this module in every process, by the group ``verl.plugins`` of entry points. An installation must never
change another's training: without the variable nothing of verl is touched, or even imported.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Mapping

# What a run says to have this rollout, and what it is called in verl's configuration.
VARIABLE, VALUE = "NPU_RECIPES_ROLLOUT", "transformers"
NAME = "hf"
THREADS = "NPU_RECIPES_ROLLOUT_THREADS"


def wanted(environ: Mapping[str, str]) -> bool:
    """Return whether an environment asks for the rollout; other words than ours in the variable are an error.

    Raises:
        ValueError: the variable holds something else.
    """
    value = environ.get(VARIABLE, "")
    if value not in ("", VALUE):
        raise ValueError(f"{VARIABLE}={value}: there is no such rollout\n  fix: {VARIABLE}={VALUE}, or leave it unset")
    return value == VALUE


def threads(environ: Mapping[str, str]) -> int:
    """Return how many cores a server uses: one by default, since trainers use the others.

    Raises:
        ValueError: the variable holds no such number.
    """
    value = environ.get(THREADS, "") or "1"
    if not re.fullmatch(r"[1-9][0-9]{0,3}", value):
        raise ValueError(f"{THREADS}={value}: is no number of threads\n  fix: {THREADS}=4, or leave it unset")
    return int(value)


def register() -> None:
    """Enter the rollout into verl's registries, under the name `NAME`."""
    from verl.workers.rollout import base, replica  # noqa: PLC0415  # only where it is wanted

    base._ROLLOUT_REGISTRY[NAME, "async"] = "npu_recipes.cpu.rollout.Rollout"
    replica.RolloutReplicaRegistry.register(NAME, _replica)


def _replica() -> type:
    from npu_recipes.cpu.rollout import Replica  # noqa: PLC0415  # it imports Ray

    return Replica


try:
    if wanted(os.environ):
        register()
except Exception:
    # verl says nothing of a plugin that fails, and only later that there is no such rollout.
    traceback.print_exc(file=sys.stderr)
    raise
