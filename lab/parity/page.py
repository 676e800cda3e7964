"""Page: the figures of pins → the tables of the documents, in both languages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat

from parity.figures import Half, Pin

_ENGLISH = """\
# How far the models are from upstream's

English | [简体中文](parity.zh-CN.md)

<!-- `make parity` writes this page. -->

Of each pin of transformers, `make parity` builds the wheel, installs it beside torch {torch}, and runs a tiny random
model of every family that the overlay changes, forward and backward, on the CPU and on an emulated NPU. On the CPU runs
upstream's code of the same pin, too, unpatched. The cases are those of the tests: of language models one sequence,
three padded ones, packed ones of odd lengths, and GELU in place of SiLU, in fp32, and two sequences in bf16, in fp16,
and under autocast to bf16 with parameters in fp32; of vision towers three images of different sizes, in fp32, bf16 and
under autocast. Each norm has an epsilon of its own. The torch_npu is the newest that a stack names beside the pin, and
the newest of all where none does.

| transformers | overlay | emulated torch_npu | models | cases | on the CPU |
|---|---|---|---|---|---|
{cases}

"Bit for bit" upstream's is every output and every gradient of every case: where one is not, no page is written.

## In fp32, on the emulated NPU

The largest relative error of any output or any parameter's gradient, beside the CPU; the tests allow 1e-5:

{full}

## In half precision, on the emulated NPU

The relative error beside the same model computed in fp32, and in brackets how many times that of upstream's own code on
the CPU it is: of the output, or of all gradients together, whichever gives more times. The tests allow 1.25 times.
Linear attention (Qwen3-Next, Qwen3.5) multiplies roundings, in upstream's code too.

bf16:

{bfloat16}

fp16:

{float16}

bf16 by autocast, with parameters in fp32; Qwen3-VL-MoE has none before transformers 5, where upstream's router fails:

{autocast}

## Operators of one layer

What a model of two layers launches on the emulated NPU in fp32, forward and backward, halved: with upstream's code →
with the wheel's, and in brackets how many of the wheel's are the NPU's own fused operators; upstream's code launches
none of these. Of Qwen3-Next's and Qwen3.5's two layers one has linear attention, of the two layers of the other
mixtures of experts one has no experts. Attention is the eager one on both sides.

{operators}

How often the host waits for the device in the whole model, upstream's code → the wheel's, where these differ:

{waits}

## What this does not say

The emulated NPU computes with PyTorch on the CPU. It takes operators as the wheel of torch_npu declares them, refuses
what any version documents as outside their limits, and counts what is launched. How a real NPU rounds, what it refuses
besides, and how long anything takes there, only a real NPU tells.
"""
_CHINESE = """\
# 模型与上游相差多少

[English](parity.md) | 简体中文

<!-- 本页由 `make parity` 写出。 -->

`make parity` 对 transformers 的每个 pin 构建 wheel，装在 torch {torch} 旁，
为 overlay 改动的每个模型族取一个参数随机的微型模型，在 CPU 和模拟的 NPU 上运行前向与反向；
同一 pin 未打补丁的上游代码也在 CPU 上运行。用例就是测试的用例：语言模型在 fp32 下有单条序列、三条带填充的序列、
长度为奇数的打包序列，以及用 GELU 代替 SiLU，在 bf16、fp16 以及参数为 fp32 的 bf16 autocast 下为
两条序列；视觉塔为三幅大小不同的图像，fp32、bf16 和 autocast。每个归一化层的 epsilon 各不相同。
torch_npu 取各 stack 为该 pin 所列版本中最新的一个，没有 stack 时取所有版本中最新的。

| transformers | overlay | 模拟的 torch_npu | 模型 | 用例 | 在 CPU 上 |
|---|---|---|---|---|---|
{cases}

“逐位相同”指每个用例的每个输出和每个梯度都与上游逐位相同；若有一个不同，就不会写出本页。

## fp32，模拟的 NPU

与 CPU 相比，任一输出或任一参数梯度的最大相对误差；测试允许 1e-5：

{full}

## 半精度，模拟的 NPU

与同一模型的 fp32 结果相比的相对误差，括号内是它为上游代码在 CPU 上误差的多少倍；输出与全部梯度两者中取倍数较大者。
测试允许 1.25 倍。线性注意力（Qwen3-Next、Qwen3.5）会放大舍入，上游代码也一样。

bf16：

{bfloat16}

fp16：

{float16}

参数为 fp32、由 autocast 转为 bf16；transformers 5 之前 Qwen3-VL-MoE 的上游路由在此失败：

{autocast}

## 每层的算子

两层模型在模拟的 NPU 上以 fp32 前向与反向启动的算子数，除以二：上游代码 → wheel，
括号内是 wheel 的算子中 NPU 自己的融合算子数；上游代码一个也不启动。Qwen3-Next 和 Qwen3.5 的两层中有一层是线性注意力，
其他混合专家模型的两层中有一层没有专家。两边的注意力都是 eager。

{operators}

主机在整个模型中等待设备的次数，上游代码 → wheel；只列出两者不同的模型：

{waits}

## 本页没有说明的

模拟的 NPU 在 CPU 上用 PyTorch 计算。算子按 torch_npu wheel 中的声明，
超出任一版本文档限制的它都拒绝，并统计启动的算子。
真实 NPU 如何舍入、还会拒绝什么、各步耗时多少，只有真实 NPU 才知道。
"""
_SAME = {"parity.md": "bit for bit", "parity.zh-CN.md": "逐位相同"}
_MODEL = {"parity.md": "model", "parity.zh-CN.md": "模型"}
_NONE = ""


def pages(pins: Iterable[Pin], *, torch: str) -> Mapping[str, str]:
    """Return both pages by their names.

    Args:
        pins: what was measured, from the oldest version to the newest.
        torch: the version that computed.
    """
    listed = list(pins)
    return {
        name: text.format(torch=torch, cases=_cases(listed, _SAME[name]), **_tables(listed, name))
        for name, text in (("parity.md", _ENGLISH), ("parity.zh-CN.md", _CHINESE))
    }


def _cases(pins: Iterable[Pin], same: str) -> str:
    counted = ((pin, len(pin.parity), sum(one.cases for one in pin.parity.values())) for pin in pins)
    return "\n".join(
        _row((pin.version, f"`{pin.overlay}`", pin.torch_npu, f"{models}", f"{cases}", same))
        for pin, models, cases in counted
    )


def _tables(pins: Sequence[Pin], page: str) -> dict[str, str]:
    waiting = [model for model in _models(pins) if any(map(_waits_differ, _having(pins, model), repeat(model)))]
    cells: dict[str, Callable[[Pin, str], str]] = {
        "full": lambda pin, model: f"{pin.parity[model].full:.1e}",
        "bfloat16": lambda pin, model: _half(pin.parity[model].halves.get("bfloat16")),
        "float16": lambda pin, model: _half(pin.parity[model].halves.get("float16")),
        "autocast": lambda pin, model: _half(pin.parity[model].halves.get("autocast")),
        "operators": _operators,
        "waits": lambda pin, model: " → ".join(map(str, pin.operators[model].waits)),
    }
    return {
        name: _table(pins, waiting if name == "waits" else _models(pins), _MODEL[page], cell)
        for name, cell in cells.items()
    }


def _models(pins: Iterable[Pin]) -> list[str]:
    """Return every model, in the order in which they came to be."""
    return list(dict.fromkeys(model for pin in pins for model in pin.parity))


def _waits_differ(pin: Pin, model: str) -> bool:
    return len(set(pin.operators[model].waits)) > 1


def _having(pins: Iterable[Pin], model: str) -> list[Pin]:
    return [pin for pin in pins if model in pin.parity]


def _table(pins: Sequence[Pin], models: Iterable[str], head: str, cell: Callable[[Pin, str], str]) -> str:
    """Return a row for each model of which something was measured, and a column for each pin."""
    cells = {model: [cell(pin, model) if model in pin.parity else _NONE for pin in pins] for model in models}
    rows = [_row((f"`{model}`", *found)) for model, found in cells.items() if any(found)]
    return "\n".join((_row((head, *(pin.version for pin in pins))), "|---" * (len(pins) + 1) + "|", *rows))


def _half(found: Half | None) -> str:
    return f"{found.error:.1e} ({found.ratio:.2f})" if found else _NONE


def _operators(pin: Pin, model: str) -> str:
    found = pin.operators[model]
    return f"{found.upstream:g} → {found.ours:g} ({found.fused:g})"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
