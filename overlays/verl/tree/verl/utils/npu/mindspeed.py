"""MindSpeed's patches of Megatron: repeat them with the arguments of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


def renew_patches(repatch: Callable[[Any], object], arguments: Mapping[str, Any]) -> None:
    """Let MindSpeed choose its patches again, without losing any.

    `repatch` removes MindSpeed's patches and applies those that the new arguments require. Many releases remove patches
    from modules only, not from classes. They then take a patched method for upstream's original, and assign upstream's
    method to every module attribute of that name. MindSpeed's own modules are among them, so that its replacement
    becomes upstream's code. Removing the patches from classes first avoids this.

    Args:
        repatch: MindSpeed's function of that name.
        arguments: the values to set in MindSpeed's arguments.
    """
    _restore_classes()
    repatch(arguments)


def _restore_classes() -> None:
    """Assign the original of every patched method to its class; MindSpeed does this too, but too late."""
    manager = getattr(sys.modules.get("mindspeed.patch_utils"), "MindSpeedPatchesManager", None)
    for patch in getattr(manager, "patches_info", {}).values():
        owner = getattr(patch, "orig_module", None)
        # A patch that was never applied has no owner yet; a patch of a whole module has no name.
        if owner is not None and not isinstance(owner, ModuleType):
            setattr(owner, patch.orig_func_name, patch.orig_func)
