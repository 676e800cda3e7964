"""What goes wrong while installing: versions that cannot work together, and packages that are missing."""

# Paths are the strings of sys.path and of the environment, thousands of them.
# ruff: noqa: PTH112, PTH113, PTH118, PTH119, PTH208

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator

from packaging.requirements import Requirement

from npu_doctor import source, system, versions
from npu_doctor.context import Context
from npu_doctor.distributions import Distribution, normal
from npu_doctor.model import Level, Row
from npu_doctor.requirements import applies, parse, range_of

_PLAIN = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_INFERENCE = ("vllm", "sglang")


def cpu_torch(context: Context) -> Iterator[Row]:
    """Yield whether torch on x86 is the CPU build that torch_npu's x86 wheels ask for."""
    torch = context.version("torch")
    if context.system.machine.lower() not in ("x86_64", "amd64") or not (torch or context.version("torch_npu")):
        return
    level: Level = "matched" if torch.partition("+")[2].startswith("cpu") else "broken"
    yield context.judge(1, "torch on x86", level, torch or "not installed", f"{context.torch}+cpu")


def engine_torch(context: Context) -> Iterator[Row]:
    """Yield whether torch is torch_npu's, and whether vllm is a build that lets it be."""
    torch, npu, vllm = (context.version(name) for name in ("torch", "torch_npu", "vllm"))
    if torch and npu:
        level: Level = "matched" if versions.same(versions.public(torch), context.torch) else "broken"
        yield context.judge(2, "torch for torch_npu", level, torch, f"{context.torch}, torch_npu's {npu}")
    if vllm:
        located = context.packages.locate("vllm")
        compiled = [name for name in _names(located.folder if located else "") if re.match(r"_C\b.*\.so$", name)]
        empty = "empty" in vllm.partition("+")[2] or not compiled
        built = "no CUDA code" if empty else f"CUDA code ({compiled[0]})"
        yield context.judge(
            2,
            "vllm build",
            "matched" if empty else "broken",
            f"{vllm}, {built}",
            "a build for no device (+empty)",
        )


def _names(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if folder and os.path.isdir(folder) else []


def development_pin(context: Context) -> Iterator[Row]:
    """Yield whether vllm-ascend requires a torch_npu that the index does not have."""
    distribution = context.packages.get("vllm-ascend")
    for text in distribution.requires if distribution else ():
        wanted = parse(text)
        if wanted is None or normal(wanted.name) != "torch-npu" or ".dev" not in range_of(text):
            continue
        found = context.version("torch_npu")
        asked = range_of(text)
        answer = versions.allows(asked, found) if found else False
        base = asked.lstrip("=~> ").partition(".dev")[0]
        level: Level = "matched" if answer else "compatible" if versions.same(base, found) else "broken"
        yield context.judge(3, "torch_npu for vllm-ascend", level, found or "not installed", asked)


def required(context: Context) -> Iterator[Row]:
    """Yield, for each patched distribution, what it requires and nobody installed, as after ``--no-deps``."""
    for distribution in context.packages.by_name.values():
        package = f"{distribution.name.replace('-', '_')}_summary"
        if not os.path.isfile(os.path.join(distribution.root, package, "changes.json")):
            continue
        wanted = {text: _applying(context, text) for text in dict.fromkeys(distribution.requires)}
        absent = {
            text.partition(";")[0].replace(" ", ""): one.name
            for text, one in wanted.items()
            if one and not context.packages.get(one.name)
        }
        if absent:
            # Ours, the companion and those of the same suffix, may be on no index.
            suffix = distribution.name.rpartition("-")[2]
            ours = any("+" in text or name.endswith(f"-{suffix}") for text, name in absent.items())
            links = " --find-links wheels" if ours else ""
            yield Row(
                component=f"requirements of {distribution.name}",
                level="broken",
                found=f"not installed: {', '.join(dict.fromkeys(absent.values()))}",
                expected="all installed",
                why="what needs them cannot be imported; --no-deps leaves them out",
                fix=f"python -m pip install{links} {' '.join(map(shlex.quote, absent))}",
                see=(distribution.info,),
            )


def _applying(context: Context, text: str) -> Requirement | None:
    """Return a requirement that applies to this machine; None for any other text."""
    wanted = parse(text)
    here = {"python": context.system.python, "machine": context.system.machine}
    return wanted if wanted and applies(wanted, **here) else None


def requirements(context: Context) -> Iterator[Row]:
    """Yield each requirement between the packages of a stack that does not hold."""
    names = {normal(name): name for name in context.settings["distributions"].values()}
    for distribution in context.packages.by_name.values():
        if distribution.name in names or distribution.name.endswith("-npu"):
            yield from _unmet(context, distribution, set(names))


def _unmet(context: Context, distribution: Distribution, names: set[str]) -> Iterator[Row]:
    for text in dict.fromkeys(distribution.requires):
        wanted = _applying(context, text)
        if wanted is None or normal(wanted.name) not in names:
            continue
        specifier = range_of(text)
        if normal(wanted.name) == "torch-npu" and ".dev" in specifier:
            continue  # has a row of its own
        found = context.packages.version(wanted.name)
        if not found or not specifier or versions.allows(specifier, found) is not False:
            continue
        # torch has to be torch_npu's, whatever an engine asks for.
        torch = normal(wanted.name) in ("torch", "torchvision", "torchaudio") and distribution.name in _INFERENCE
        level: Level = "compatible" if torch else "broken"
        label, asked = (
            f"{wanted.name} for {distribution.name}",
            f"{specifier} ({distribution.name} {distribution.version})",
        )
        if torch:
            yield context.judge(2, label, level, found, asked)
        else:
            fix = f"pip install --no-deps '{wanted.name}{specifier}', or take both from one stack"
            why = f"{distribution.name} {distribution.version} requires it"
            see = (f"{distribution.info}",)
            yield Row(
                component=label,
                level=level,
                found=found,
                expected=asked,
                why=why,
                fix=fix,
                see=see,
            )


def limits(context: Context) -> Iterator[Row]:
    """Yield whether packages keep within the limits that hold for every stack."""
    for limit in context.settings["limits"]:
        found = context.version(limit["component"])
        if not found:
            continue
        answer = versions.allows(limit["allow"], versions.public(found))
        level: Level = "unknown" if answer is None else "matched" if answer else "broken"
        name = context.settings["distributions"][limit["component"]]
        yield context.judge(limit["symptom"], name, level, found, limit["allow"], source=limit["source"])


def cann_modules(context: Context) -> Iterator[Row]:
    """Yield whether the modules that CANN's own Python code imports are there."""
    if not (context.version("cann") or context.version("torch_npu")):
        return
    wanted = context.settings["cann_modules"]
    missing = [module for module in wanted if not context.has(module)]
    found = f"missing: {', '.join(missing)}" if missing else "all there"
    install = " ".join(wanted[module] for module in missing)
    level: Level = "broken" if missing else "matched"
    yield context.judge(6, "Python modules of CANN", level, found, ", ".join(wanted), missing=install)


def engine_version(context: Context) -> Iterator[Row]:
    """Yield whether vllm-ascend can tell which vllm it runs with."""
    vllm, said = context.version("vllm"), context.system.value("VLLM_VERSION")
    plugin = context.packages.locate("vllm_ascend")
    if not vllm or plugin is None:
        return
    paths = [path for path in source.files(plugin.folder) if os.path.basename(path) != "utils.py"]
    compared = any(source.mentions(path, "vllm_version_is(") for path in paths)
    known = said or vllm
    plain = bool(
        _PLAIN.fullmatch(known) or re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+(rc[0-9]+|\.post[0-9]+|\.[0-9]+)?", known)
    )
    level: Level = "matched" if plain else "broken" if compared or said else "compatible"
    release = _PLAIN.match(versions.public(vllm))
    found = f"VLLM_VERSION={said}" if said else f"{vllm}, VLLM_VERSION not set"
    fill = {"vllm": release[0] if release else "X.Y.Z"}
    yield context.judge(8, "version of vllm", level, found, "X.Y.Z, as vllm-ascend compares it", **fill)


def chip(context: Context) -> Iterator[Row]:
    """Yield whether vllm-ascend was built for the chip of this machine."""
    plugin = context.packages.locate("vllm_ascend")
    built = build_record(plugin.folder if plugin else "", "__soc_version__")
    names = sorted({device.name for device in context.ascend.devices})
    if not built or not names:
        return
    level: Level = (
        "matched" if all(built.upper() in {f"ASCEND{name.upper()}", name.upper()} for name in names) else "broken"
    )
    family = next((one for one in context.settings["chips"] if re.match(one["soc"], built, re.IGNORECASE)), None)
    if level == "broken" and family and all(re.match(family["names"], name) for name in names):
        level = "compatible"
    soc = f"ascend{names[0].lower().removeprefix('ascend')}"
    yield context.judge(
        9, "chip of vllm-ascend", level, f"built for {built}, npu-smi shows {', '.join(names)}", soc, soc=soc
    )


def build_record(folder: str, name: str) -> str:
    """Return a value from vllm-ascend's build record."""
    content = system.text(os.path.join(folder, "_build_info.py")) if folder else None
    found = re.search(rf"^{name}\s*=\s*['\"]?([^'\"\n]*)", content or "", re.MULTILINE)
    return found[1].strip() if found else ""
