"""The start of training: once in the driver and once in each worker process."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

from verl.utils.npu import allocator, determinism

logger = logging.getLogger("verl_npu")
_logged: list[bool] = []


def start_training(config: Any) -> None:
    """Start training in the driver: log the patch summary once, and make the run deterministic if configured.

    Args:
        config: the whole training config.
    """
    if os.environ.get("RANK", "0") == "0":
        log_patch_summary()
    start_driver(config)


def start_driver(config: Any) -> None:
    """Make this process and its workers deterministic if configured; a run's second driver does only this.

    Args:
        config: the whole training config.
    """
    determinism.request(config.trainer.get("deterministic_seed", None))
    determinism.seed_process(int(os.environ.get("RANK", "0")))


def start_worker() -> None:
    """Start a worker process: seed it if the run is deterministic, and switch on expandable segments if requested."""
    from verl.utils.device import set_expandable_segments  # noqa: PLC0415  # the driver's functions work without torch

    determinism.seed_process(int(os.environ.get("RANK", "0")))
    set_expandable_segments(True)


def worker_environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the driver's environment variables that a worker needs, except those that the user sets for it."""
    passed_on = determinism.environment()
    if allocator.SWITCH in os.environ:
        passed_on[allocator.SWITCH] = os.environ[allocator.SWITCH]
    return {name: value for name, value in passed_on.items() if name not in (given or {})}


def log_patch_summary() -> None:
    """Log the summary that the wheel contains, once per process; a source checkout has none."""
    if _logged:
        return
    _logged.append(True)
    try:
        import verl_npu_summary  # noqa: PLC0415  # exists only in built wheels
    except ImportError:
        return
    # verl sets the root logger to WARNING; these lines should still be in every log.
    logger.setLevel(logging.INFO)
    logger.info("\n%s", verl_npu_summary.text())
