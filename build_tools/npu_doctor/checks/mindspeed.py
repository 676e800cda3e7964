"""MindSpeed's patches of Megatron: whether they outlive `repatch`, and whether they come before Megatron."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npu_doctor import files, syntax
from npu_doctor.context import Context
from npu_doctor.model import Row

_ADAPTOR = "mindspeed.megatron_adaptor"
# Where verl-npu takes patches off classes before it lets MindSpeed renew them.
_OURS = "verl.utils.npu.mindspeed"
_IMPORT = re.compile(rf"^[ \t]*(?:from|import)[ \t]+({re.escape(_ADAPTOR)}|megatron)\b", re.MULTILINE)


def repatch(context: Context) -> Iterator[Row]:
    """Yield whether the patches of methods are in force after `repatch`, as a trial of the installed manager shows."""
    kept, adaptor = context.repatching, context.packages.locate(_ADAPTOR)
    names = syntax.defined_names(adaptor.file) if adaptor else None
    if names is None or not context.has("mindspeed.patch_utils"):
        return
    label, version = "repatch of MindSpeed", (context.version("mindspeed") or "of an unknown version")[:24]
    expected = "all patches in force afterwards"
    if "repatch" not in names:
        why = "verl continues without it, and MindSpeed never gets the arguments of the run"
        yield context.judge(34, label, "compatible", f"{version}, has no repatch", expected, why=why)
    elif kept is None:
        yield context.judge(34, label, "unknown", f"{version}, its patch_utils.py could not be tried", expected)
    elif kept:
        yield context.judge(34, label, "matched", f"{version}, keeps patches of methods", expected)
    elif context.has(_OURS):
        found = f"{version}, undoes patches of methods; verl-npu keeps them"
        yield context.judge(34, label, "compatible", found, expected)
    else:
        yield context.judge(34, label, "broken", f"{version}, undoes patches of methods", expected)


def order(context: Context) -> Iterator[Row]:
    """Yield whether each file of verl that imports both MindSpeed's adaptor and Megatron begins with the adaptor."""
    verl = context.packages.locate("verl")
    if verl is None or not verl.folder or not context.has(_ADAPTOR):
        return
    importing, late = 0, []
    for path in files.python_files(verl.folder):
        text = files.text(path) or ""
        if _ADAPTOR in text and (first := _IMPORT.search(text)):
            importing += 1
            if first[1] != _ADAPTOR:
                late.append(path.removeprefix(f"{verl.entry}/"))
    if importing:
        found = f"{_ADAPTOR} first, in {importing} files of verl"
        if late:
            found = f"megatron first: {', '.join(late[:3])}"
        expected = f"{_ADAPTOR} before megatron.core, in every process"
        yield context.judge(35, "order of MindSpeed and Megatron", not late, found, expected)
