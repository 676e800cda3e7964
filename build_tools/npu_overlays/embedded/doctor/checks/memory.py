"""What goes wrong with memory: allocator settings against the installed torch_npu, sleep mode, other processes."""

# Paths are the strings of sys.path and of the environment, thousands of them.
# ruff: noqa: PTH113, PTH118, PTH123

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator

from .. import source, system, versions
from ..context import Context
from ..model import Level, Row
from .install import build_record

_TRUE = {"true", "1", "yes", "on"}
_SHARE = 10  # percent of a device that another process may hold before a run is at risk


def _settings(context: Context) -> list[tuple[str, str]]:
    """Return the options of PYTORCH_NPU_ALLOC_CONF with their values."""
    parts = context.system.value("PYTORCH_NPU_ALLOC_CONF").split(",")
    pairs = [part.partition(":") for part in parts if part.strip()]
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def expandable_segments(context: Context) -> Iterator[Row]:
    """Yield whether expandable segments are on where vllm-ascend's sleep mode forbids them."""
    if not context.has("vllm_ascend"):
        return
    on = dict(_settings(context)).get("expandable_segments", "False").lower() in _TRUE
    found = context.system.value("PYTORCH_NPU_ALLOC_CONF") or "not set"
    expected = "expandable_segments:False, or not set, in the process of the rollout"
    yield context.judge(
        21,
        "PYTORCH_NPU_ALLOC_CONF with sleep mode",
        "broken" if on else "matched",
        found,
        expected,
    )


def dynamic_segments(context: Context) -> Iterator[Row]:
    """Yield whether switching segments at run time, EXPANDABLE_SEGMENTS, can work with this torch_npu."""
    wanted = context.system.value("EXPANDABLE_SEGMENTS")
    located = context.packages.locate("torch_npu")
    if wanted.lower() not in _TRUE or located is None:
        return
    setter = source.mentions(os.path.join(located.folder, "npu", "memory.py"), "def _set_allocator_settings")
    found = f"torch_npu {context.version('torch_npu')} {'has' if setter else 'has no'} _set_allocator_settings"
    fix = "unset EXPANDABLE_SEGMENTS, or take torch_npu 2.7.1.post2 with CANN 8.5.0"
    why = "segments are off while the rollout sleeps and on for training; without the setter nothing is switched"
    level: Level = "matched" if setter else "broken"
    yield context.judge(21, "EXPANDABLE_SEGMENTS", level, found, "a torch_npu that can switch", fix=fix, why=why)


def allocator(context: Context) -> Iterator[Row]:
    """Yield whether the allocator's options are known to this torch_npu and do not exclude each other."""
    pairs = _settings(context)
    if not pairs:
        return
    names = [name for name, _ in pairs]
    known = _known(context)
    strange = [name for name in names if known is not None and name not in known]
    on = dict(pairs).get("expandable_segments", "").lower() in _TRUE
    clash = [name for name in names if name in context.settings["allocator"]["exclusive"]] if on else []
    problem = [f"torch_npu {context.version('torch_npu')} does not know {', '.join(strange)}"] if strange else []
    problem += [f"{', '.join(clash)} with expandable_segments:True"] if clash else []
    level: Level = "broken" if problem else "unknown" if known is None else "matched"
    expected = f"options this torch_npu knows: {', '.join(sorted(known))}" if known else "options torch_npu knows"
    found = "; ".join(problem) or ",".join(names)
    yield context.judge(23, "PYTORCH_NPU_ALLOC_CONF", level, found, expected)


def _known(context: Context) -> set[str] | None:
    """Return the options that the installed torch_npu knows, from its library, else from the table of versions."""
    located = context.packages.locate("torch_npu")
    rules = context.settings["allocator"]
    held = _held(os.path.join(located.folder, "lib", "libtorch_npu.so"), rules["options"]) if located else None
    if held:
        return held
    tabled = [
        options for version, options in rules["known"].items() if versions.same(version, context.version("torch_npu"))
    ]
    return set(tabled[0]) if tabled else None


def _held(library: str, texts: list[str]) -> set[str] | None:
    """Return which texts a library holds; None where it cannot be read."""
    try:
        with open(library, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return {text for text in texts if content.find(text.encode()) >= 0}
    except (OSError, ValueError):  # not there, or empty
        return None


def sleep_mode(context: Context) -> Iterator[Row]:
    """Yield whether vllm-ascend was built with the kernels that sleep mode needs, for this Python."""
    plugin = context.packages.locate("vllm_ascend")
    if plugin is None or not plugin.folder:
        return
    tag = "cpython-" + "".join(context.system.python.split(".")[:2])
    libraries = [
        name for name in system.names(plugin.folder) if name.startswith("vllm_ascend_C") and name.endswith(".so")
    ]
    fitting = [name for name in libraries if tag in name or ".abi3." in name or name == "vllm_ascend_C.so"]
    enabled = build_record(plugin.folder, "__sleep_mode_enabled__")
    found = f"__sleep_mode_enabled__ = {enabled or 'not recorded'}, {', '.join(libraries) or 'no vllm_ascend_C*.so'}"
    level: Level = "matched" if fitting and enabled not in {"False", "0", "None"} else "broken"
    yield context.judge(22, "sleep mode of vllm-ascend", level, found, f"enabled, with a library for {tag}")


def sleep_frees(context: Context) -> Iterator[Row]:
    """Yield whether vllm-ascend empties the cache when it sleeps, read from its source."""
    plugin = context.packages.locate("vllm_ascend")
    if plugin is None or not plugin.folder:
        return
    bodies = [body for path in _workers(plugin.folder) for body in source.functions(path, "sleep")]
    if not bodies:
        return
    # The worker's sleep calls the allocator's: one of them has to.
    frees = any("empty_cache" in body for body in bodies)
    level: Level = "matched" if frees else "compatible"
    found = f"vllm-ascend {context.version('vllm_ascend')}: sleep {'empties' if frees else 'does not empty'} the cache"
    yield context.judge(24, "memory after sleep", level, found, "empty_cache when going to sleep")


def _workers(folder: str) -> list[str]:
    names = ("worker/worker_v1.py", "worker/worker.py", "device_allocator/camem.py")
    return [path for name in names if os.path.isfile(path := os.path.join(folder, name))]


def processes(context: Context) -> Iterator[Row]:
    """Yield whether other processes hold the memory of this machine's devices."""
    if not context.ascend.devices:
        return
    running = context.ascend.processes
    totals = {device.npu: device.total for device in context.ascend.devices if device.total}
    heavy = [
        one for one in running if one.memory * 100 >= _SHARE * (totals.get(one.npu) or min(totals.values(), default=1))
    ]
    shown = [f"NPU {one.npu}: {one.name} (pid {one.pid}) {one.memory} MB" for one in (heavy or running)[:4]]
    level: Level = "broken" if heavy else "compatible" if running else "matched"
    pid = " ".join(one.pid for one in (heavy or running)[:8])
    yield context.judge(
        25, "memory of the devices", level, "; ".join(shown) or "no processes", "no other process", pid=pid
    )
