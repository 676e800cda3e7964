"""Expandable segments of the NPU allocator: off while an inference engine holds memory, on for training.

The environment variable ``EXPANDABLE_SEGMENTS`` switches them, and
``PYTORCH_NPU_ALLOC_CONF`` holds the other allocator options. torch_npu's setter
receives all options together, so that switching one does not reset the others.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, MutableMapping

SWITCH = "EXPANDABLE_SEGMENTS"
CONFIGURATION = "PYTORCH_NPU_ALLOC_CONF"
# The user's own options; some of them are removed while expandable segments are on.
ORIGINAL = "VERL_NPU_ORIGINAL_ALLOC_CONF"
OPTION = "expandable_segments"
CONFLICTING = ("max_split_size_mb", "garbage_collection_threshold")

NO_SETTER = (
    f"{SWITCH}=True has no effect: this torch_npu cannot change allocator settings at run time (2.5.1, 2.6.0 and 2.7.1 "
    f"cannot; 2.7.1.post2 and 2.9.0 can). Use a newer torch_npu, or unset {SWITCH} and, only when "
    f"rollout.free_cache_engine=False, export {CONFIGURATION}={OPTION}:True for the whole process."
)

logger = logging.getLogger(__name__)
_said: set[str] = set()


def requested(environ: MutableMapping[str, str] | None = None) -> bool:
    """Return whether the user switched expandable segments on."""
    value = (os.environ if environ is None else environ).get(SWITCH, "")
    return value.strip().lower() in ("1", "true", "yes", "on")


def options(configuration: str) -> dict[str, str]:
    """Return the options of an allocator configuration, in order; commas inside ``[…]`` do not separate options."""
    parts = [part.strip() for part in re.split(r",(?![^\[]*\])", configuration)]
    return {name.strip(): value.strip() for name, _, value in (part.partition(":") for part in parts if part)}


def with_expandable_segments(configuration: str, *, enable: bool) -> str:
    """Return the configuration with expandable segments on or off, and with the other options.

    If they are on, options that the allocator refuses together with expandable
    segments are removed.
    """
    kept = options(configuration)
    if enable:
        kept = {name: value for name, value in kept.items() if name not in CONFLICTING}
    kept[OPTION] = str(enable)
    return ",".join(f"{name}:{value}" for name, value in kept.items())


def switch_expandable_segments(
    *,
    enable: bool,
    setter: Callable[[str], None] | None = None,
    environ: MutableMapping[str, str] | None = None,
) -> bool:
    """Switch expandable segments on or off in this process, if the user requested them.

    Args:
        enable: on for training, off before an inference engine is built or woken.
        setter: torch_npu's allocator setter; None for that of ``torch.npu.memory``.
        environ: the environment to read and update; None for that of the process.

    Returns:
        Whether the allocator was switched.
    """
    environ = os.environ if environ is None else environ
    if not requested(environ):
        return False
    setter = setter or _torch_npu_setter()
    if setter is None:
        _say_once(NO_SETTER)
        return False
    original = environ.setdefault(ORIGINAL, environ.get(CONFIGURATION, ""))
    _set(setter, original, enable=enable)
    # Before an engine sleeps, vllm-ascend reads the variable, not the allocator.
    environ[CONFIGURATION] = with_expandable_segments(original, enable=enable)
    return True


def _set(setter: Callable[[str], None], configuration: str, *, enable: bool) -> None:
    everything = with_expandable_segments(configuration, enable=enable)
    only = f"{OPTION}:{enable}"
    lost = options(configuration).keys() - options(everything).keys()
    if lost:
        _say_once(f"{', '.join(sorted(lost))} cannot be combined with {OPTION} and are off while it is on")
    try:
        setter(everything)
    except (RuntimeError, ValueError):
        if everything == only:
            raise
        # torch_npu 2.9.0 accepts only this option and refuses a string with any other.
        _say_once(f"this torch_npu can only set {OPTION}; {everything} is reduced to {only}")
        setter(only)


def _torch_npu_setter() -> Callable[[str], None] | None:
    import torch  # noqa: PLC0415  # the rest of this module works without it

    memory = getattr(getattr(torch, "npu", None), "memory", None)
    return getattr(memory, "_set_allocator_settings", None)


def _say_once(message: str) -> None:
    if message not in _said:
        _said.add(message)
        logger.warning(message)
