"""What goes wrong while importing: the first error, files lost or doubled, builds for something else."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator

from npu_doctor import files
from npu_doctor.context import Context
from npu_doctor.model import Level, Row

_CUDA = re.compile(r"^cuda\b[^=]*=\s*['\"]?([0-9][0-9.]*)", re.MULTILINE)


def real_imports(context: Context) -> Iterator[Row]:
    """Yield how importing went, each in a child process, with the first error instead of the last."""
    for name, result in context.imported.items():
        if name == "acl":
            continue
        found = "imported" if result.ok else result.error
        expected = "importable with TORCH_DEVICE_BACKEND_AUTOLOAD=0"
        yield context.judge(12, f"import {name}", result.ok, found, expected)


def triton(context: Context) -> Iterator[Row]:
    """Yield whether triton and triton-ascend have spoilt each other's files."""
    ours, theirs = context.packages.get("triton-ascend"), context.packages.get("triton")
    if ours is None:
        return
    lost = [path for path in ours.record if path.startswith("triton/") and not files.is_file(f"{ours.root}/{path}")]
    sample = f"{ours.root}/triton/__init__.py"
    changed = _differs(sample, ours.record.get("triton/__init__.py", ""))
    found = [f"triton-ascend {ours.version}"]
    if theirs:
        found.append(f"triton {theirs.version} too")
    if lost:
        found.append(f"{len(lost)} of its files are gone, {lost[0]} among them")
    if changed:
        found.append("triton/__init__.py is not its own")
    fill = {"triton_ascend": f"triton-ascend=={ours.version}"}
    yield context.judge(14, "triton", len(found) == 1, ", ".join(found), "triton-ascend alone, whole", **fill)


def _differs(path: str, recorded: str) -> bool:
    """Return whether a file is there and is not the one its record tells of."""
    kind, _, value = recorded.partition("=")
    content = files.content(path) if kind == "sha256" else None
    if content is None:
        return False
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode() != value


def cuda(context: Context) -> Iterator[Row]:
    """Yield whether torch could use a CUDA device, which torch_npu refuses to share with."""
    folder = context.folder("torch")
    if not folder:
        return
    built = _CUDA.search(files.text(f"{folder}/version.py") or "")
    device = any(re.fullmatch(r"nvidia[0-9]+", name) for name in context.system.names("/dev"))
    level: Level = "matched" if not built else "broken" if device else "compatible"
    found = f"built for CUDA {built[1]}, {'with' if device else 'without'} a CUDA device" if built else "no CUDA"
    yield context.judge(15, "CUDA in torch", level, found, "a CPU build of torch")


def forbidden(context: Context) -> Iterator[Row]:
    """Yield whether packages for CUDA stand in MindSpeed's way."""
    if not context.has("mindspeed"):
        return
    for rule in context.settings["forbidden"]:
        located = context.packages.locate(rule["module"])
        there = [name for name in rule["distributions"] if context.packages.get(name)]
        found = ", ".join(filter(None, [*there, located.file if located else ""])) or "not there"
        yield context.judge(rule["symptom"], rule["module"], not (located or there), found, "not installed")


def megatron(context: Context) -> Iterator[Row]:
    """Yield whether MindSpeed finds all of Megatron, from one place."""
    if not context.has("mindspeed"):
        return
    training = context.packages.locate("megatron.training")
    found = training.file if training else "not found"
    yield context.judge(20, "megatron.training", bool(training), found, "the source tree of Megatron-LM")
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
