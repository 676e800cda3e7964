"""What goes wrong with memory: allocator settings against the installed torch_npu and against sleep mode."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npu_doctor import files, syntax, versions
from npu_doctor.checks.install import build_record
from npu_doctor.context import Context
from npu_doctor.model import Level, Row

_TRUE = {"true", "1", "yes", "on"}
_OPTION = "expandable_segments"
_VARIABLES = ("PYTORCH_NPU_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")


def _settings(value: str) -> dict[str, str]:
    """Return the options of an allocator configuration with their values; commas inside ``[…]`` do not separate."""
    options = {}
    for part in filter(str.strip, re.split(r",(?![^\[]*\])", value)):
        name, _, chosen = part.partition(":")
        options[name.strip()] = chosen.strip()
    return options


def expandable_segments(context: Context) -> Iterator[Row]:
    """Yield whether expandable segments are on where an engine that sleeps refuses them."""
    if not context.has("vllm_ascend") and not context.has("torch_memory_saver"):
        return
    asked = _refused_variables(context)
    on = [name for name in _VARIABLES if _settings(context.system.value(name)).get(_OPTION, "").lower() in _TRUE]
    # An engine may refuse the variable for GPUs too, left over from a recipe; torch_npu's is what turns them on.
    refused = [name for name in on if name == _VARIABLES[0] or name in asked]
    found = " ".join(f"{name}={context.system.value(name)}" for name in refused or _VARIABLES[:1])
    expected = f"{_OPTION}:False, or not set, in the process of the rollout"
    fix = f"unset {' '.join(refused)}" if refused and _VARIABLES[0] not in refused else ""
    yield context.judge(21, "PYTORCH_NPU_ALLOC_CONF with sleep mode", not refused, found, expected, fix=fix)


def _refused_variables(context: Context) -> set[str]:
    """Return the variables that the installed engines look at before they refuse."""
    found: set[str] = set()
    for package, below in (("vllm_ascend", "device_allocator"), ("torch_memory_saver", "")):
        folder = context.folder(package)
        paths = files.python_files(f"{folder}/{below}") if folder else iter(())
        for path in paths:
            if files.mentions(path, _OPTION):
                found.update(name for name in _VARIABLES if files.mentions(path, name))
    return found


def dynamic_segments(context: Context) -> Iterator[Row]:
    """Yield whether switching segments at run time, EXPANDABLE_SEGMENTS, can work with this verl and torch_npu."""
    wanted = context.system.value("EXPANDABLE_SEGMENTS")
    located, verl = context.packages.locate("torch_npu"), context.packages.locate("verl")
    if wanted.strip().lower() not in _TRUE or located is None:
        return
    setter = files.mentions(f"{located.folder}/npu/memory.py", "def _set_allocator_settings")
    reads = verl is None or files.is_file(f"{verl.folder}/utils/npu/allocator.py")
    found = f"torch_npu {context.version('torch_npu')} {'has' if setter else 'has no'} _set_allocator_settings"
    found += "" if reads else f"; verl {context.version('verl')} does not read the variable"
    fix = "unset EXPANDABLE_SEGMENTS, or take " + ("torch_npu 2.7.1.post2 with CANN 8.5.0" if reads else "verl-npu")
    why = "segments are off while the rollout sleeps and on for training; without the setter nothing is switched"
    expected = "verl-npu and a torch_npu that can switch"
    yield context.judge(21, "EXPANDABLE_SEGMENTS", setter and reads, found, expected, fix=fix, why=why)


def allocator(context: Context) -> Iterator[Row]:
    """Yield whether the allocator's options are known to this torch_npu and do not exclude each other."""
    names = _settings(context.system.value(_VARIABLES[0]))
    if not names:
        return
    known = _known_options(context)
    strange = [name for name in names if known is not None and name not in known]
    on = names.get(_OPTION, "").lower() in _TRUE
    clash = [name for name in names if on and name in context.settings["allocator"]["exclusive"]]
    problem: list[str] = []
    if strange:
        problem.append(f"torch_npu {context.version('torch_npu')} does not know {', '.join(strange)}")
    if clash:
        problem.append(f"{', '.join(clash)} with expandable_segments:True")
    level: Level = "broken" if problem else "unknown" if known is None else "matched"
    expected = f"options this torch_npu knows: {', '.join(sorted(known))}" if known else "options torch_npu knows"
    found = "; ".join(problem) or ",".join(names)
    yield context.judge(23, "PYTORCH_NPU_ALLOC_CONF", level, found, expected)


def _known_options(context: Context) -> set[str] | None:
    """Return the options that the installed torch_npu knows, from its library, else from the table of versions."""
    located = context.packages.locate("torch_npu")
    rules = context.settings["allocator"]
    held = files.texts_in(f"{located.folder}/lib/libtorch_npu.so", rules["options"]) if located else None
    if held:
        return held
    found = context.version("torch_npu")
    for version, options in rules["known"].items():
        if versions.same(version, found):
            return set(options)
    return None


def sleep_mode(context: Context) -> Iterator[Row]:
    """Yield whether vllm-ascend was built with the kernels that sleep mode needs, for this Python."""
    folder = context.folder("vllm_ascend")
    if not folder:
        return
    tag = "cpython-" + "".join(context.system.python.split(".")[:2])
    libraries = [name for name in files.names(folder) if name.startswith("vllm_ascend_C") and name.endswith(".so")]
    fitting = [name for name in libraries if tag in name or ".abi3." in name or name == "vllm_ascend_C.so"]
    enabled = build_record(folder, "__sleep_mode_enabled__")
    found = f"__sleep_mode_enabled__ = {enabled or 'not recorded'}, {', '.join(libraries) or 'no vllm_ascend_C*.so'}"
    well = bool(fitting) and enabled not in ("False", "0", "None")
    yield context.judge(22, "sleep mode of vllm-ascend", well, found, f"enabled, with a library for {tag}")


def sleep_frees(context: Context) -> Iterator[Row]:
    """Yield whether vllm-ascend empties the cache when it sleeps, read from its source."""
    folder = context.folder("vllm_ascend")
    if not folder:
        return
    bodies: list[str] = []
    for path in (*files.python_files(f"{folder}/worker"), *files.python_files(f"{folder}/device_allocator")):
        if files.mentions(path, "def sleep("):
            bodies += syntax.functions(path, "sleep")
    # The worker's sleep calls the allocator's: one of them has to.
    frees = any("empty_cache" in body for body in bodies)
    level: Level = "matched" if frees else "compatible" if bodies else "unknown"
    does = "empties the cache" if frees else "does not empty the cache" if bodies else "is not in its workers"
    found = f"vllm-ascend {context.version('vllm_ascend')}: sleep {does}"
    yield context.judge(24, "memory after sleep", level, found, "empty_cache when going to sleep")
