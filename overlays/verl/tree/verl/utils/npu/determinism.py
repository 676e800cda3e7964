"""Deterministic training: ``trainer.deterministic_seed`` sets seeds and the switches of the NPU libraries.

The driver stores the seed and the switches in its environment. verl passes them
to every worker process, which applies them before it uses a device.
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
    """Request deterministic training for this process and its children; a seed of None changes nothing.

    The switches override existing values: NNAL's set_env.sh, for example, sets
    ATB_MATMUL_SHUFFLE_K_ENABLE=1.
    """
    if seed is None:
        return
    environ = os.environ if environ is None else environ
    environ.update(SWITCHES)
    environ[SEED] = str(int(seed))


def requested_seed(environ: Mapping[str, str] | None = None) -> int | None:
    """Return the requested seed, or None."""
    value = (os.environ if environ is None else environ).get(SEED, "")
    return int(value) if value else None


def environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment variables that make a worker process as deterministic as this one."""
    environ = os.environ if environ is None else environ
    names = [SEED, *SWITCHES] if requested_seed(environ) is not None else []
    return {name: environ[name] for name in names if name in environ}


def seed_process(rank: int = 0) -> bool:
    """Seed Python, NumPy and torch, and switch on torch's deterministic kernels, if requested.

    Args:
        rank: added to the seed, so that dropout differs between data-parallel ranks.

    Returns:
        Whether determinism was requested.
    """
    seed = requested_seed()
    if seed is None:
        return False
    import numpy  # noqa: PLC0415  # most processes do not need these imports
    import torch  # noqa: PLC0415

    random.seed(seed + rank)
    numpy.random.seed((seed + rank) % 2**32)
    torch.manual_seed(seed + rank)
    torch.use_deterministic_algorithms(True, warn_only=True)
    return True
