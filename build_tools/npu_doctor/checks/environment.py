"""Environments that have to be sourced, and what is preloaded: CANN, NNAL, libgomp, allocators."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import compress

from npu_doctor import files, versions
from npu_doctor.context import Context
from npu_doctor.model import Level, Row

_ABI = re.compile(r"_GLIBCXX_USE_CXX11_ABI=([01])")
_FOLDER_ABI = re.compile(r"cxx_abi_([01])")


def cann(context: Context) -> Iterator[Row]:
    """Yield whether the toolkit's set_env.sh has been sourced and what it exports exists."""
    if not (context.has("torch_npu") or context.ascend.home):
        return
    for name, parts in (("ASCEND_HOME_PATH", ("runtime", "compiler")), ("ASCEND_OPP_PATH", ())):
        value = context.system.value(name)
        # The folders lie directly below, or below the one of the processor; from 8.5 on links lead there.
        lost = [part for part in parts if not _part(context, value, part)]
        there = bool(value) and context.system.is_folder(value)
        found = value or "not set"
        if value and not there:
            found = f"{value}, which does not exist"
        elif value and lost:
            found = f"{value} without {', '.join(lost)}"
        yield context.judge(10, name, there and not lost, found, "the folder of the toolkit")


def _part(context: Context, home: str, part: str) -> bool:
    machine = f"{context.system.machine}-linux"
    return bool(home) and any(context.system.is_folder(path) for path in (f"{home}/{part}", f"{home}/{machine}/{part}"))


def nnal(context: Context) -> Iterator[Row]:
    """Yield whether NNAL's set_env.sh has been sourced; vllm-ascend cannot start without it."""
    if not (context.has("torch_npu") or context.has("vllm_ascend")):
        return
    home = context.system.value("ATB_HOME_PATH")
    there = bool(home) and context.system.is_file(f"{home}/lib/libatb.so")
    found = "not set" if not home else home if there else f"{home} without lib/libatb.so"
    needed: Level = "broken" if context.has("vllm_ascend") or home else "compatible"
    yield context.judge(11, "ATB_HOME_PATH", "matched" if there else needed, found, "the folder of NNAL's atb")


def nnal_version(context: Context) -> Iterator[Row]:
    """Yield whether NNAL is of the toolkit's version and made for torch's C++ ABI."""
    found, cann = context.ascend.nnal, context.ascend.cann
    if found and cann:
        yield context.judge(13, "NNAL with CANN", versions.same(found, cann), found, cann)
    libraries = context.system.value("LD_LIBRARY_PATH")
    chosen = _FOLDER_ABI.search(libraries) or _FOLDER_ABI.search(context.system.value("ATB_HOME_PATH"))
    torch = _torch_abi(context)
    if chosen and torch:
        same, expected = chosen[1] == torch, f"cxx_abi_{torch}, torch's"
        yield context.judge(13, "C++ ABI of NNAL", same, f"cxx_abi_{chosen[1]}", expected)


def _torch_abi(context: Context) -> str:
    """Return torch's C++ ABI, from its CMake file, else as torch itself said in the child process."""
    folder = context.folder("torch")
    config = f"{folder}/share/cmake/Torch/TorchConfig.cmake" if folder else ""
    if found := _ABI.search(files.text(config) or ""):
        return found[1]
    imported = context.imported.get("torch")
    return imported.facts.get("abi", "") if imported else ""


def preload(context: Context) -> Iterator[Row]:
    """Yield whether LD_PRELOAD names files that exist, libgomp first on aarch64, and jemalloc where it is wanted."""
    named = [part for part in re.split(r"[:\s]+", context.system.value("LD_PRELOAD")) if part]
    for path in named:
        # A bare name is looked up by the loader, which cannot be told from here.
        if "/" in path and not context.system.is_file(path):
            fix = "correct LD_PRELOAD or install the file"
            yield context.judge(18, "LD_PRELOAD", "broken", f"{path} does not exist", "files that exist", fix=fix)
    kinds = [path.rpartition("/")[2].partition(".")[0].partition("-")[0] for path in named]
    yield from _jemalloc(named, kinds)
    if context.system.machine != "aarch64" or not context.has("torch"):
        return
    order = kinds.index("libgomp") if "libgomp" in kinds else -1
    before = [kind for kind in kinds[: max(order, 0)] if kind != "libjemalloc"]
    level: Level = "matched" if order >= 0 and not before else "compatible"
    found = ":".join(named) or "not set"
    yield context.judge(18, "libgomp in LD_PRELOAD", level, found, "libgomp first", libgomp=_libgomp(context))


def _jemalloc(named: list[str], kinds: list[str]) -> Iterator[Row]:
    replacing = [kind in ("libjemalloc", "libtcmalloc", "libtcmalloc_minimal") for kind in kinds]
    allocators = list(compress(named, replacing))
    if len(allocators) > 1:
        yield Row(
            component="allocators in LD_PRELOAD",
            level="broken",
            found=":".join(allocators),
            expected="one allocator",
            why="two allocators replace malloc and only one of them frees",
            fix=f"export LD_PRELOAD={allocators[0]}",
        )
    elif "libjemalloc" in kinds:
        yield Row(component="jemalloc", level="matched", found=allocators[0], expected="optional")


def _libgomp(context: Context) -> str:
    located = context.packages.locate("torch")
    folder = f"{located.entry}/torch.libs" if located else ""
    shipped = [f"{folder}/{name}" for name in files.names(folder) if name.startswith("libgomp")]
    return next(iter(shipped), "/usr/lib/aarch64-linux-gnu/libgomp.so.1")
