"""Dumps without torch: a small model's forward, written as hooks would."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from npu_recipes.dumps.dump_file import Array, DumpManifest, Passage, Store, Tensor

CLASSES = {
    "": ("transformers.models.qwen2.modeling_qwen2:Qwen2Model",),
    "layers.0": ("transformers.models.qwen2.modeling_qwen2:Qwen2DecoderLayer",),
    "layers.0.attn": ("transformers.models.qwen2.modeling_qwen2:Qwen2Attention",),
    "layers.0.attn.q": ("torch.nn.modules.linear:Linear",),
    "layers.0.attn.o": ("torch.nn.modules.linear:Linear",),
    "layers.0.norm": ("transformers.models.qwen2.modeling_qwen2:Qwen2RMSNorm",),
}
# In the order in which they are through, with what each is given.
ORDER = (
    ("layers.0.attn.q", "x"),
    ("layers.0.attn.o", "mixed"),
    ("layers.0.attn", "x"),
    ("layers.0.norm", "attended"),
    ("layers.0", "x"),
    ("", "ids"),
)


@dataclass(frozen=True, kw_only=True)
class Forward:
    """A forward to be written.

    Args:
        outputs: of modules that give something else than the others do.
        inputs: likewise, of what they are given.
        named: of modules, what they call what they are given.
        dtype: what the numbers were in torch.
        left_out: modules that did not run.
        more: modules that give one thing more.
        masked: modules that are given a mask besides.
        every: which elements are kept.
        calls: how many forwards there are.
        made_by: as in the manifest.
    """

    outputs: Mapping[str, Array] = field(default_factory=dict)
    inputs: Mapping[str, Array] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)
    dtype: str = "bfloat16"
    left_out: Sequence[str] = ()
    more: Sequence[str] = ()
    masked: Sequence[str] = ()
    every: int = 1
    calls: int = 1
    made_by: Mapping[str, str] = field(default_factory=lambda: {"torch": "2.13.0"})


def usual(name: str, shape: tuple[int, ...] = (4, 8)) -> Array:
    """Return numbers that depend on a name alone."""
    return np.random.default_rng(sum(map(ord, name))).normal(size=shape).astype(np.float32)


def write(file: Path, forward: Forward) -> Path:
    """Write a dump."""
    store = Store(file, began=math.inf)

    def tensor(array: Array, dtype: str, name: str = "0") -> tuple[Tensor, ...]:
        broken = int((~np.isfinite(array)).sum()) if array.dtype.kind == "f" else 0
        number = store.add(array.reshape(-1)[:: forward.every])
        return (
            Tensor(name=name, dtype=dtype, shape=array.shape, array=number, every=forward.every, not_finite=broken),
        )

    passages = [
        Passage(
            call=call,
            module=module,
            time=0,
            inputs=(
                *tensor(
                    forward.inputs.get(module, _given(given)),
                    "int64" if given == "ids" else forward.dtype,
                    forward.named.get(module, "0"),
                ),
                *(tensor(usual("mask"), forward.dtype, "mask") if module in forward.masked else ()),
            ),
            outputs=(
                *tensor(forward.outputs.get(module, usual(module)), forward.dtype),
                *(tensor(usual("more"), forward.dtype, "1") if module in forward.more else ()),
            ),
        )
        for call in range(forward.calls)
        for module, given in ORDER
        if module not in forward.left_out
    ]
    store.finish(DumpManifest(passages=tuple(passages), begun=forward.calls, classes=CLASSES, made_by=forward.made_by))
    return file


def _given(name: str) -> Array:
    return np.arange(8) if name == "ids" else usual(name)
