"""A trial of MindSpeed's manager of patches, in a child process → whether patches of methods outlive a `repatch`.

Only the file that holds the manager is run, which needs nothing but the standard library; what it patches is made up.
"""

from __future__ import annotations

from npu_doctor.commands import Started
from npu_doctor.system import System

_SECONDS = 60
_KEPT, _UNDONE = "npu-doctor: kept", "npu-doctor: undone"
_CODE = """
import importlib.util, sys, types
for name in ("mindspeed", "mindspeed.trial", "trial"):
    sys.modules[name] = types.ModuleType(name)
spec = importlib.util.spec_from_file_location("mindspeed.patch_utils", sys.argv[1])
sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
manager = module.MindSpeedPatchesManager
own, upstream = sys.modules["mindspeed.trial"], sys.modules["trial"]
exec("class C:\\n    def step(self): return 1\\n    def other(self): return 1", vars(upstream))
exec("def step(self): return 2\\ndef other_npu(self): return 2", vars(own))
def answers():
    manager.apply_patches()
    manager.register_patch("trial.C.step", own.step)
    manager.register_patch("trial.C.other", own.other_npu)
    manager.apply_patches()
    return upstream.C().step(), upstream.C().other()
first = answers()
manager.remove_patches()
second = answers()
if first == (2, 2) and second[1] == 2:
    print(KEPT if second[0] == 2 else UNDONE)
"""


def start(system: System, file: str) -> Started | None:
    """Start the trial of a ``mindspeed/patch_utils.py``; None without one."""
    if not file:
        return None
    code = f"KEPT, UNDONE = {_KEPT!r}, {_UNDONE!r}\n{_CODE}"
    # Isolated from the machine's packages, and without leaving compiled files beside MindSpeed's.
    return system.start([system.executable, "-I", "-B", "-c", code, file], timeout=_SECONDS)


def outcome(started: Started | None) -> bool | None:
    """Return whether patches of methods are kept; None where that cannot be told."""
    lines = started.answer().out.splitlines() if started else []
    return True if _KEPT in lines else False if _UNDONE in lines else None
