"""Probe: what only running code tells, in child processes.

torch, torch_npu and acl are imported → the first error of each. MindSpeed's manager of patches is tried on made-up
classes → whether patches of methods outlive a `repatch`; its file needs nothing but the standard library.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from npu_doctor.commands import Started
from npu_doctor.system import System
from npu_summary import isolation

# The first import of torch from a network file system takes minutes.
_SECONDS = 180
_MARK = "npu-doctor:"
# Autoload would import torch_npu from within torch and hide the reason of its failure behind its own.
_ENV = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONFAULTHANDLER": "1"}
_CODE = """
def root(error):
    seen = set()
    while id(error) not in seen:
        seen.add(id(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__) or error
    return error
def where(error):
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return "%s:%d" % (at.tb_frame.f_code.co_filename, at.tb_lineno) if at else ""
def say(**what):
    sys.__stdout__.write("\\n" + MARK + json.dumps(what) + "\\n")
    sys.__stdout__.flush()
for name in NAMES:
    say(module=name, state="started")
    try:
        module = importlib.import_module(name)
    except BaseException as error:
        first = root(error)
        text = str(first) or repr(first)
        say(module=name, state="failed", kind=type(first).__name__, text=text[:2000], where=where(first))
        continue
    facts = {}
    if name == "torch":
        facts["abi"] = str(int(bool(getattr(getattr(module, "_C", None), "_GLIBCXX_USE_CXX11_ABI", True))))
    if name == "acl":
        try:
            count, code = module.rt.get_device_count()
            facts = {"devices": str(int(count))} if code == 0 else {"problem": "get_device_count gave %s" % code}
        except BaseException as error:
            facts = {"problem": "%s: %s" % (type(error).__name__, error)}
    say(module=name, state="imported", file=str(getattr(module, "__file__", "")), **facts)
"""


_TRIAL_SECONDS = 60
_KEPT, _UNDONE = "npu-doctor: kept", "npu-doctor: undone"
_TRIAL_CODE = """
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


@dataclass(frozen=True, kw_only=True)
class ImportOutcome:
    """How one import went."""

    module: str  # its name
    ok: bool  # whether it could be imported
    error: str = ""  # the first error, in its own words, with where it was raised
    facts: dict[str, str] = field(default_factory=dict)  # versions and the like, read from the module


def start(system: System, modules: list[str]) -> Started | None:
    """Start importing modules, in order, in one child process; None where there are none."""
    if not modules:
        return None
    env = {**_ENV, "PYTHONPATH": ":".join(system.path)} if system.explicit_path else _ENV
    kept = isolation.options()
    # After this code's own imports, so that the current folder cannot hide the standard library.
    path = f"sys.path[:] = {list(system.path)!r}\n" if kept and not system.explicit_path else ""
    code = f"import importlib, json, sys\n{path}MARK = {_MARK!r}\nNAMES = {modules!r}\n{_CODE}"
    return system.start([system.executable, *kept, "-c", code], timeout=_SECONDS, env=env)


def outcome(started: Started | None, modules: list[str]) -> dict[str, ImportOutcome]:
    """Return the outcome of each module that was reached.

    A crash of the interpreter is the outcome of the module it hit.
    """
    if started is None:
        return {}
    answer = started.answer()
    found = {said["module"]: _outcome(said) for said in _messages(answer.out)}
    crashed = next((name for name, one in found.items() if not one.ok and not one.error), None)
    first = crashed or (modules[0] if not found else None)
    if first is not None:
        # The loader complains about LD_PRELOAD for every program; that has its own row.
        lines = [line for line in answer.err.splitlines() if line.strip() and not line.startswith("ERROR: ld.so")]
        died = f"the interpreter died (exit status {answer.code}): {next(iter(lines), 'it said nothing')}"
        found[first] = ImportOutcome(module=first, ok=False, error=answer.problem or died)
    return found


def _messages(output: str) -> list[dict[str, Any]]:
    said = []
    for line in output.splitlines():
        if line.startswith(_MARK):
            try:
                value = json.loads(line[len(_MARK) :])
            except ValueError:  # a module printed our mark
                continue
            if isinstance(value, dict) and isinstance(value.get("module"), str):
                said.append(value)
    return said


def _outcome(said: dict[str, Any]) -> ImportOutcome:
    name, state = said["module"], said.get("state")
    if state == "failed":
        error = f"{said.get('kind')}: {said.get('text')} ({said.get('where')})"
        return ImportOutcome(module=name, ok=False, error=error)
    facts = {key: str(value) for key, value in said.items() if key not in {"module", "state"}}
    return ImportOutcome(module=name, ok=state == "imported", facts=facts)


def start_trial(system: System, file: str) -> Started | None:
    """Start the trial of a ``mindspeed/patch_utils.py``; None without one."""
    if not file:
        return None
    code = f"KEPT, UNDONE = {_KEPT!r}, {_UNDONE!r}\n{_TRIAL_CODE}"
    # Isolated from the machine's packages, and without leaving compiled files beside MindSpeed's.
    return system.start([system.executable, "-I", "-B", "-c", code, file], timeout=_TRIAL_SECONDS)


def trial_outcome(started: Started | None) -> bool | None:
    """Return whether patches of methods are kept; None where that cannot be told."""
    lines = started.answer().out.splitlines() if started else []
    return True if _KEPT in lines else False if _UNDONE in lines else None
