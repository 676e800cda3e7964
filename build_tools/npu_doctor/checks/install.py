"""What goes wrong while installing: builds for something else, and modules that nobody requires."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npu_doctor import files, versions
from npu_doctor.context import Context
from npu_doctor.model import Level, Row

_PLAIN = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


def cpu_torch(context: Context) -> Iterator[Row]:
    """Yield whether torch on x86 is the CPU build that torch_npu's x86 wheels ask for."""
    torch = context.version("torch")
    if not context.x86 or not (torch or context.version("torch_npu")):
        return
    built = torch.partition("+")[2].startswith("cpu")
    yield context.judge(1, "torch on x86", built, torch or "not installed", f"{context.torch}+cpu")


def engine_torch(context: Context) -> Iterator[Row]:
    """Yield whether torch is torch_npu's, and whether vllm is a build that lets it be."""
    torch, npu, vllm = (context.version(name) for name in ("torch", "torch_npu", "vllm"))
    if torch and npu:
        same = versions.same(versions.public(torch), context.torch)
        yield context.judge(2, "torch for torch_npu", same, torch, f"{context.torch}, torch_npu's {npu}")
    if vllm:
        names = files.names(context.folder("vllm"))
        compiled = [name for name in names if re.match(r"_C\b.*\.so$", name)]
        empty = "empty" in vllm.partition("+")[2] or not compiled
        built = "no CUDA code" if empty else f"CUDA code ({compiled[0]})"
        yield context.judge(2, "vllm build", empty, f"{vllm}, {built}", "a build for no device (+empty)")


def cann_modules(context: Context) -> Iterator[Row]:
    """Yield whether the modules that CANN's own Python code imports are there."""
    if not (context.version("cann") or context.version("torch_npu")):
        return
    wanted = context.settings["cann_modules"]
    missing = [module for module in wanted if not context.has(module)]
    found = f"missing: {', '.join(missing)}" if missing else "all there"
    install = " ".join(wanted[module] for module in missing)
    yield context.judge(6, "Python modules of CANN", not missing, found, ", ".join(wanted), missing=install)


def engine_version(context: Context) -> Iterator[Row]:
    """Yield whether vllm-ascend can tell which vllm it runs with."""
    vllm, said = context.version("vllm"), context.system.value("VLLM_VERSION")
    plugin = context.packages.locate("vllm_ascend")
    if not vllm or plugin is None:
        return
    paths = [path for path in files.python_files(plugin.folder) if not path.endswith("/utils.py")]
    compared = any(files.mentions(path, "vllm_version_is(") for path in paths)
    known = said or vllm
    plain = re.fullmatch(rf"{_PLAIN.pattern}(rc[0-9]+|\.post[0-9]+|\.[0-9]+)?", known)
    level: Level = "matched" if plain else "broken" if compared or said else "compatible"
    release = _PLAIN.match(versions.public(vllm))
    found = f"VLLM_VERSION={said}" if said else f"{vllm}, VLLM_VERSION not set"
    fill = {"vllm": release[0] if release else "X.Y.Z"}
    yield context.judge(8, "version of vllm", level, found, "X.Y.Z, as vllm-ascend compares it", **fill)


def chip(context: Context) -> Iterator[Row]:
    """Yield whether vllm-ascend was built for the chip of this machine."""
    built = build_record(context.folder("vllm_ascend"), "__soc_version__")
    names = sorted({device.name for device in context.ascend.devices})
    if not built or not names:
        return
    same = all(built.upper() in (f"ASCEND{name.upper()}", name.upper()) for name in names)
    level: Level = "matched" if same else "broken"
    family = next((one for one in context.settings["chips"] if re.match(one["soc"], built, re.IGNORECASE)), None)
    if level == "broken" and family and all(re.match(family["names"], name) for name in names):
        level = "compatible"
    soc = f"ascend{names[0].lower().removeprefix('ascend')}"
    found = f"built for {built}, npu-smi shows {', '.join(names)}"
    yield context.judge(9, "chip of vllm-ascend", level, found, soc, soc=soc)


def build_record(folder: str, name: str) -> str:
    """Return a value from vllm-ascend's build record."""
    content = files.text(f"{folder}/_build_info.py") if folder else None
    found = re.search(rf"^{name}\s*=\s*['\"]?([^'\"\n]*)", content or "", re.MULTILINE)
    return found[1].strip() if found else ""
