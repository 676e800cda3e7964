"""MindSpeed's patches of Megatron, renewed with the arguments of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


def renew_patches(repatch: Callable[[Any], object], arguments: Mapping[str, Any]) -> None:
    """Let MindSpeed choose its patches anew, and lose none of them.

    MindSpeed takes its patches off and makes them again, of what the new arguments ask for. Many releases take them off
    modules only. A method they find still patched counts as upstream's, and each module that has it under that name,
    MindSpeed's own with it, is given upstream's instead: from then on the patch of that method is upstream's code.

    Args:
        repatch: MindSpeed's function of that name.
        arguments: what to set among MindSpeed's arguments.
    """
    _take_off_classes()
    repatch(arguments)


def _take_off_classes() -> None:
    """Give every patched method back to its class, as MindSpeed does a moment later, when it is too late."""
    manager = getattr(sys.modules.get("mindspeed.patch_utils"), "MindSpeedPatchesManager", None)
    for patch in getattr(manager, "patches_info", {}).values():
        owner = getattr(patch, "orig_module", None)
        # A patch that was never made has no owner yet, and one of a whole module no name.
        if owner is not None and not isinstance(owner, ModuleType):
            setattr(owner, patch.orig_func_name, patch.orig_func)
