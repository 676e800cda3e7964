"""Deterministic training: ``trainer.deterministic_seed`` in; seeds and the switches of the NPU libraries out.

The driver keeps seed and switches in its environment; verl hands them to
every worker process, which acts on them before it touches a device.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, MutableMapping

SEED = "VERL_NPU_DETERMINISTIC_SEED"
SWITCHES = {
    "HCCL_DETERMINISTIC": "true",
    "LCCL_DETERMINISTIC": "1",
    "CLOSE_MATMUL_K_SHIFT": "1",
    "ATB_MATMUL_SHUFFLE_K_ENABLE": "0",
    "ATB_LLM_LCOC_ENABLE": "0",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "FLASH_ATTENTION_DETERMINISTIC": "1",
    "PYTHONHASHSEED": "0",
}


def request(seed: int | None, environ: MutableMapping[str, str] | None = None) -> None:
    """Ask for deterministic training in this process and in those it starts; None leaves everything as it is.

    The switches overwrite what is set: sourcing NNAL's set_env.sh sets
    ATB_MATMUL_SHUFFLE_K_ENABLE=1, for one.
    """
    if seed is None:
        return
    environ = os.environ if environ is None else environ
    environ.update(SWITCHES)
    environ[SEED] = str(int(seed))


def requested_seed(environ: Mapping[str, str] | None = None) -> int | None:
    """Return the seed this process was given, or None."""
    value = (os.environ if environ is None else environ).get(SEED, "")
    return int(value) if value else None


def environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what a worker process must find in its environment to be as deterministic as this one."""
    environ = os.environ if environ is None else environ
    names = [SEED, *SWITCHES] if requested_seed(environ) is not None else []
    return {name: environ[name] for name in names if name in environ}


def seed_process(rank: int = 0) -> bool:
    """Seed Python, NumPy and torch and ask torch for deterministic kernels, if that was requested.

    Args:
        rank: added to the seed, so that data-parallel ranks do not drop out the same units.

    Returns:
        Whether it was requested.
    """
    seed = requested_seed()
    if seed is None:
        return False
    import numpy  # noqa: PLC0415  # most processes never need these here
    import torch  # noqa: PLC0415

    random.seed(seed + rank)
    numpy.random.seed((seed + rank) % 2**32)
    torch.manual_seed(seed + rank)
    torch.use_deterministic_algorithms(True, warn_only=True)
    return True
