"""What goes wrong while importing: environments not sourced, files lost or doubled, builds for something else."""

# Paths are the strings of sys.path and of the environment, thousands of them.
# ruff: noqa: PTH113, PTH118, PTH119

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from .. import source, system, versions
from ..context import Context
from ..model import Level, Row

_CUDA = re.compile(r"^cuda\b[^=]*=\s*['\"]?([0-9][0-9.]*)", re.MULTILINE)
_ABI = re.compile(r"_GLIBCXX_USE_CXX11_ABI=([01])")
_FOLDER_ABI = re.compile(r"cxx_abi_([01])")


def cann_environment(context: Context) -> Iterator[Row]:
    """Yield whether the toolkit's set_env.sh has been sourced and what it exports exists."""
    if not (context.has("torch_npu") or context.ascend.home):
        return
    for name, parts in (("ASCEND_HOME_PATH", ("runtime", "compiler")), ("ASCEND_OPP_PATH", ())):
        value = context.system.value(name)
        # The folders lie directly below, or below the one of the processor; from 8.5 on links lead there.
        lost = [part for part in parts if not _part(context, value, part)]
        there = bool(value) and context.system.is_dir(value)
        found = value or "not set"
        if value and not there:
            found = f"{value}, which does not exist"
        elif value and lost:
            found = f"{value} without {', '.join(lost)}"
        level: Level = "matched" if there and not lost else "broken"
        yield context.judge(10, name, level, found, "the folder of the toolkit")


def _part(context: Context, home: str, part: str) -> bool:
    machine = f"{context.system.machine}-linux"
    return bool(home) and any(context.system.is_dir(path) for path in (f"{home}/{part}", f"{home}/{machine}/{part}"))


def nnal_environment(context: Context) -> Iterator[Row]:
    """Yield whether NNAL's set_env.sh has been sourced; vllm-ascend cannot start without it."""
    if not (context.has("torch_npu") or context.has("vllm_ascend")):
        return
    home = context.system.value("ATB_HOME_PATH")
    there = bool(home) and context.system.is_file(f"{home}/lib/libatb.so")
    found = "not set" if not home else home if there else f"{home} without lib/libatb.so"
    needed: Level = "broken" if context.has("vllm_ascend") or home else "compatible"
    yield context.judge(11, "ATB_HOME_PATH", "matched" if there else needed, found, "the folder of NNAL's atb")


def real_imports(context: Context) -> Iterator[Row]:
    """Yield how importing went, each in a child process, with the first error instead of the last."""
    for name, result in context.imported.items():
        if name == "acl":
            continue
        found = "imported" if result.ok else result.error
        expected = "importable with TORCH_DEVICE_BACKEND_AUTOLOAD=0"
        yield context.judge(12, f"import {name}", "matched" if result.ok else "broken", found, expected)


def nnal(context: Context) -> Iterator[Row]:
    """Yield whether NNAL is of the toolkit's version and made for torch's C++ ABI."""
    found, cann = context.ascend.nnal, context.ascend.cann
    if found and cann:
        level: Level = "matched" if versions.same(found, cann) else "broken"
        yield context.judge(13, "NNAL with CANN", level, found, cann)
    libraries = context.system.value("LD_LIBRARY_PATH")
    chosen = _FOLDER_ABI.search(libraries) or _FOLDER_ABI.search(context.system.value("ATB_HOME_PATH"))
    torch = _torch_abi(context)
    if chosen and torch:
        level = "matched" if chosen[1] == torch else "broken"
        yield context.judge(13, "C++ ABI of NNAL", level, f"cxx_abi_{chosen[1]}", f"cxx_abi_{torch}, torch's")


def _torch_abi(context: Context) -> str:
    """Return torch's C++ ABI, from its CMake file, else as torch itself said in the child process."""
    located = context.packages.locate("torch")
    config = os.path.join(located.folder, "share", "cmake", "Torch", "TorchConfig.cmake") if located else ""
    found = _ABI.search(system.text(config) or "")
    said = context.imported.get("torch") if not found else None
    return found[1] if found else (said.facts.get("abi", "") if said else "")


def triton(context: Context) -> Iterator[Row]:
    """Yield whether triton and triton-ascend have spoilt each other's files."""
    ours, theirs = context.packages.get("triton-ascend"), context.packages.get("triton")
    if ours is None:
        return
    lost = [
        path for path in ours.record if path.startswith("triton/") and not os.path.isfile(os.path.join(ours.root, path))
    ]
    sample = os.path.join(ours.root, "triton", "__init__.py")
    changed = _changed(sample, ours.record.get("triton/__init__.py", ""))
    found = [f"triton-ascend {ours.version}"]
    found += [f"triton {theirs.version} too"] if theirs else []
    found += [f"{len(lost)} of its files are gone, {lost[0]} among them"] if lost else []
    found += ["triton/__init__.py is not its own"] if changed else []
    fill = {"triton_ascend": f"triton-ascend=={ours.version}"}
    level: Level = "broken" if len(found) > 1 else "matched"
    yield context.judge(14, "triton", level, ", ".join(found), "triton-ascend alone, whole", **fill)


def _changed(path: str, recorded: str) -> bool:
    """Return whether a file is there and is not the one its record tells of."""
    import base64  # noqa: PLC0415 - only here
    import hashlib  # noqa: PLC0415 - only here

    kind, _, value = recorded.partition("=")
    if kind != "sha256" or not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            digest = hashlib.sha256(file.read()).digest()
    except OSError:
        return False
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != value


def cuda(context: Context) -> Iterator[Row]:
    """Yield whether torch could use a CUDA device, which torch_npu refuses to share with."""
    located = context.packages.locate("torch")
    if located is None or not located.folder:
        return
    built = _CUDA.search(system.text(os.path.join(located.folder, "version.py")) or "")
    device = any(re.fullmatch(r"nvidia[0-9]+", name) for name in context.system.names("/dev"))
    level: Level = "matched" if not built else "broken" if device else "compatible"
    found = f"built for CUDA {built[1]}, {'with' if device else 'without'} a CUDA device" if built else "no CUDA"
    yield context.judge(15, "CUDA in torch", level, found, "a CPU build of torch")


def symbols(context: Context) -> Iterator[Row]:
    """Yield whether the names that verl takes from transformers are there, read from the source of both."""
    for rule in context.settings["symbols"]:
        importer, target = context.packages.locate(rule["importer"]), context.packages.locate(rule["module"])
        if importer is None or not importer.folder:
            continue
        asked = [
            (name, f"{os.path.relpath(path, importer.folder)}:{line}")
            for path in source.files(importer.folder)
            for names, line in source.all_imports(path, rule["module"])
            for name in names
        ]
        if not asked:
            continue
        defined = source.defined(target.file) if target else frozenset()
        if defined is None:
            continue
        missing = sorted({f"{name} ({place})" for name, place in asked if name not in defined})
        label = f"{rule['module']} for {rule['importer']}"
        found = (
            f"not there: {', '.join(missing[:4])}"
            if missing
            else f"{len({name for name, _ in asked})} names, all there"
        )
        level: Level = "broken" if missing else "matched"
        yield context.judge(rule["symptom"], label, level, found, "every imported name is there")


def flash_attention(context: Context) -> Iterator[Row]:
    """Yield whether transformers can dispatch flash attention to the NPU."""
    located = context.packages.locate("transformers")
    if located is None or not located.folder or not (context.has("torch_npu") or context.stack):
        return
    there = os.path.isfile(os.path.join(located.folder, "integrations", "npu_flash_attention.py"))
    dispatch = [
        os.path.join(located.folder, name) for name in ("modeling_utils.py", "modeling_flash_attention_utils.py")
    ]
    silent = [os.path.basename(path) for path in dispatch if os.path.isfile(path) and not source.mentions(path, "npu")]
    old = versions.allows("<4.51", versions.public(context.version("transformers"))) is True
    found = context.version("transformers") or located.file
    if not there:
        found += ", no integrations/npu_flash_attention.py"
    elif silent:
        found += f", {', '.join(silent)} without the NPU"
    level: Level = "matched" if there and not silent and not old else "broken"
    yield context.judge(17, "flash attention on the NPU", level, found, ">=4.51 with its NPU branches")


def preload(context: Context) -> Iterator[Row]:
    """Yield whether LD_PRELOAD names files that exist, libgomp first on aarch64, and jemalloc where it is wanted."""
    named = [part for part in re.split(r"[:\s]+", context.system.value("LD_PRELOAD")) if part]
    for path in named:
        # A bare name is looked up by the loader, which cannot be told from here.
        if "/" in path and not context.system.is_file(path):
            fix = "correct LD_PRELOAD or install the file"
            yield context.judge(18, "LD_PRELOAD", "broken", f"{path} does not exist", "files that exist", fix=fix)
    kinds = [os.path.basename(path).partition(".")[0].partition("-")[0] for path in named]
    yield from _jemalloc(named, kinds)
    if context.system.machine != "aarch64" or not context.has("torch"):
        return
    order = kinds.index("libgomp") if "libgomp" in kinds else -1
    before = [kind for kind in kinds[: max(order, 0)] if kind != "libjemalloc"]
    level: Level = "matched" if order >= 0 and not before else "compatible"
    found = ":".join(named) or "not set"
    yield context.judge(18, "libgomp in LD_PRELOAD", level, found, "libgomp first", libgomp=_libgomp(context))


def _jemalloc(named: list[str], kinds: list[str]) -> Iterator[Row]:
    allocators = [
        path
        for path, kind in zip(named, kinds, strict=True)
        if kind in {"libjemalloc", "libtcmalloc", "libtcmalloc_minimal"}
    ]
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
    folder = os.path.join(located.entry, "torch.libs") if located else ""
    shipped = [os.path.join(folder, name) for name in system.names(folder) if name.startswith("libgomp")]
    return next(iter(shipped), "/usr/lib/aarch64-linux-gnu/libgomp.so.1")


def forbidden(context: Context) -> Iterator[Row]:
    """Yield whether packages for CUDA stand in MindSpeed's way."""
    if not context.has("mindspeed"):
        return
    for rule in context.settings["forbidden"]:
        located = context.packages.locate(rule["module"])
        there = [name for name in rule["distributions"] if context.packages.get(name)]
        found = ", ".join(filter(None, [*there, located.file if located else ""])) or "not there"
        level: Level = "broken" if located or there else "matched"
        yield context.judge(rule["symptom"], rule["module"], level, found, "not installed")


def megatron(context: Context) -> Iterator[Row]:
    """Yield whether MindSpeed finds all of Megatron, from one place."""
    if not context.has("mindspeed"):
        return
    training = context.packages.locate("megatron.training")
    found = training.file if training else "not found"
    yield context.judge(
        20,
        "megatron.training",
        "matched" if training else "broken",
        found,
        "the source tree of Megatron-LM",
    )
    copies = context.packages.copies("megatron.core")
    if not copies:
        return
    entries = ", ".join(copy.entry for copy in copies)
    level: Level = "matched"
    if len(copies) > 1:
        level = "compatible" if training and training.entry == copies[0].entry else "broken"
    elif training and training.entry != copies[0].entry:
        level = "broken"
    yield context.judge(20, "copies of megatron.core", level, entries, "one, beside megatron.training")
