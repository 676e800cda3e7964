"""MindSpeed's manager of patches: a stand-in for it, and the real one where its repository is reachable."""

from __future__ import annotations

from functools import cache

from npu_overlays.errors import SourceError
from npu_overlays.sources.acquisition import acquire
from npu_overlays.sources.pin import Pin

# What stacks name, and the first release whose `repatch` is right.
COMMITS = {
    "mindspeed-rl-2.3": "1cdd0abd75e40936ad31721c092f57c695dd72c4",
    "2.3.0": "f2b0977ec85f0ce3906e34df1e1aafed7b22cafd",
    "26.0.0": "0ed973d6851a49d1396b0bc99e5621a1bf79e278",
}

# Written from what the real one was seen to do; `tests/overlays/verl/test_mindspeed.py` holds both to the same tests.
_MANAGER = '''
"""Patches by name: known when they are registered, in force when they are applied."""

import importlib
import sys


def resolved(path):
    """Return the module or class of a dotted path."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        above, _, name = path.rpartition(".")
        return getattr(resolved(above), name)


class Patch:
    def __init__(self, target):
        self.orig_module_name, self.orig_func_name = target.rsplit(".", 1)
        self.orig_module = self.orig_func = self.patch_func = self.final_patch_func = None
        self.wrappers = []
        self.is_applied = False

    def exchange(self, places, found, given):
        for place in places:
            if getattr(place, self.orig_func_name, None) is found:
                setattr(place, self.orig_func_name, given)

    def remove_patch(self):
        if self.final_patch_func is not None:
            places = [module for name, module in sys.modules.copy().items() if "mindspeed" not in name]
            self.exchange(places + TAKES_OFF, self.final_patch_func, self.orig_func)
        self.patch_func = self.final_patch_func = None
        self.wrappers.clear()
        self.is_applied = False

    def apply_patch(self):
        if self.is_applied:
            return
        owner = resolved(self.orig_module_name)
        present = getattr(owner, self.orig_func_name)
        if self.orig_module is None:
            self.orig_module, self.orig_func = owner, present
        made = self.orig_func if self.patch_func is None else self.patch_func
        for wrapper in self.wrappers:
            made = wrapper(made)
        setattr(self.orig_module, self.orig_func_name, made)
        self.exchange(list(sys.modules.copy().values()), present, made)
        self.final_patch_func = made
        self.is_applied = True


class MindSpeedPatchesManager:
    patches_info = {}

    @staticmethod
    def register_patch(target, function):
        patch = MindSpeedPatchesManager.patches_info.setdefault(target, Patch(target))
        if function.__name__.endswith("wrapper"):
            patch.wrappers.append(function)
        elif patch.patch_func is not None:
            raise RuntimeError(f"{target} has a patch")
        else:
            patch.patch_func = function
        patch.is_applied = False

    @staticmethod
    def remove_patches():
        for patch in MindSpeedPatchesManager.patches_info.values():
            patch.remove_patch()

    @staticmethod
    def apply_patches():
        for patch in MindSpeedPatchesManager.patches_info.values():
            patch.apply_patch()
'''


def patch_utils(*, mended: bool) -> str:
    """Return the text of a ``mindspeed/patch_utils.py``.

    Args:
        mended: whether patches are taken off classes too, as from MindSpeed 26.0.0 on.
    """
    classes = "([self.orig_module] if isinstance(self.orig_module, type) else [])"
    return _MANAGER.replace("TAKES_OFF", classes if mended else "[]")


class MindSpeedUnreachableError(Exception):
    """No repository of MindSpeed's answers; says why."""


def real_patch_utils(name: str) -> str:
    """Return the text of the real file, by a name of `COMMITS`; raises `UnreachableError`."""
    text, reason = _real(COMMITS[name])
    if reason:
        raise MindSpeedUnreachableError(reason)
    return text


@cache
def _real(commit: str) -> tuple[str, str]:
    pin = Pin(
        project="mindspeed",
        repository="https://gitcode.com/Ascend/MindSpeed",
        mirrors=("https://github.com/Ascend/MindSpeed",),
        commit=commit,
        packages=("mindspeed",),
    )
    try:
        return acquire(pin, mode="git").read("mindspeed/patch_utils.py").decode(), ""
    except SourceError as error:
        return "", f"MindSpeed cannot be had here: {error}"
