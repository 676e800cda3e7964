"""Page: the figures of pins → the tables of the documents, in both languages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat

from parity.figures import Half, PinFigures

_ENGLISH = """\
# How far the models are from upstream's

English | [简体中文](parity.zh-CN.md)

<!-- `make parity` writes this page. -->

You train with these wheels and want to know how far their models are from upstream's: on a CPU they are equal, bit for
bit, and on the emulated NPU the difference is rounding.

For each pin of transformers, `make parity` builds the wheel and installs it beside torch {torch}. It then runs tiny
random models of the Llama and Qwen families, forward and backward, on the CPU and on an emulated NPU. On the CPU it
also runs upstream's unpatched code of the same pin. [What is fused in which model](families.md) compares the other
families.

- **Language models in fp32**: one sequence, three padded sequences, packed sequences of odd lengths, and GELU instead
  of SiLU.
- **Language models in bf16, in fp16, and under autocast** to bf16 with parameters in fp32: two sequences.
- **Vision towers** in fp32, in bf16 and under autocast: three images of different sizes.

The tests run the same cases. No two norms of a model have the same epsilon, so code that takes the wrong one is found.
The emulated torch_npu is the newest one that a stack names for the pin; if no stack does, it is the newest of all.

| transformers | overlay | emulated torch_npu | models | cases | on the CPU |
|---|---|---|---|---|---|
{cases}

"Bit for bit" means that every output and every gradient of every case equals upstream's. If one differs,
`make parity` writes no page.

## In fp32, on the emulated NPU

The largest relative error of any output or any parameter's gradient, compared with the CPU. The tests allow 1e-5:

{full}

## In half precision, on the emulated NPU

Each cell has the relative error, compared with the same model in fp32, and in brackets the ratio of this error to the
error of upstream's own code on the CPU. Both are for the output or for all gradients together, whichever has the larger
ratio. The tests allow a ratio of 1.25. Linear attention (Qwen3-Next, Qwen3.5) multiplies
roundings, in upstream's code too.

bf16:

{bfloat16}

fp16:

{float16}

bf16 by autocast, with parameters in fp32. Before transformers 5 upstream's router of Qwen3-VL-MoE fails here:

{autocast}

## Operators of one layer

The number of operators that a model of two layers launches on the emulated NPU in fp32, forward and backward, divided
by two: upstream's code → the wheel's. In brackets is the number of the NPU's own fused operators among the wheel's;
upstream's code launches none. In Qwen3-Next and Qwen3.5, one of the two layers has linear attention. In the other
mixture-of-experts models, one of them is dense. Both sides use eager attention.

{operators}

How often the host waits for the device in the whole model, upstream's code → the wheel's, for models where they
differ:

{waits}

## What this does not say

The emulated NPU computes with PyTorch on the CPU. It accepts operators as the wheel of torch_npu declares them,
refuses inputs outside the limits that any version documents, and counts launches. Only a real NPU shows how it
rounds, what else it refuses, and how long anything takes.
"""
_CHINESE = """\
# 模型与上游相差多少

[English](parity.md) | 简体中文

<!-- 本页由 `make parity` 写出。 -->

用这些 wheel 训练时，模型与上游相差多少？在 CPU 上逐位相同，在模拟 NPU 上只差舍入。

`make parity` 为 transformers 的每个 pin 构建 wheel，与 torch {torch} 装在一起，然后取 Llama 和
Qwen 各模型族的参数随机的微型模型，在 CPU 和模拟 NPU 上运行前向与反向。在 CPU 上还运行同一 pin
未改动的上游代码。其余模型族的对比见[哪些模型融合了什么](families.zh-CN.md)。

- **语言模型，fp32**：单条序列，三条带填充的序列，长度为奇数的打包序列，以及用 GELU 代替 SiLU。
- **语言模型，bf16、fp16，以及参数为 fp32 的 bf16 autocast**：两条序列。
- **视觉塔，fp32、bf16 和 autocast**：三幅大小不同的图像。

测试运行的也是这些用例。同一模型中各归一化层的 epsilon 互不相同，因此代码如果取错，就会被发现。
模拟的 torch_npu 是各 stack 为该 pin 所列版本中最新的一个；没有 stack 列出时，取所有版本中最新的。

| transformers | overlay | 模拟的 torch_npu | 模型 | 用例 | 在 CPU 上 |
|---|---|---|---|---|---|
{cases}

“逐位相同”指每个用例的每个输出和每个梯度都与上游逐位相同。若有一个不同，`make parity` 就不会写出本页。

## fp32，模拟 NPU

与 CPU 相比，任一输出或任一参数梯度的最大相对误差；测试允许 1e-5：

{full}

## 半精度，模拟 NPU

与同一模型的 fp32 结果相比的相对误差；括号内是它与上游代码在 CPU 上的误差之比。输出与全部梯度两者中，
取比值较大者。测试允许 1.25。线性注意力（Qwen3-Next、Qwen3.5）会放大舍入，上游代码也一样。

bf16：

{bfloat16}

fp16：

{float16}

参数为 fp32，由 autocast 转为 bf16。transformers 5 之前，上游 Qwen3-VL-MoE 的路由在此失败：

{autocast}

## 每层的算子

两层的模型在模拟 NPU 上以 fp32 前向与反向启动的算子数，除以二：上游代码 → wheel。括号内是 wheel 的算子中 NPU
自己的融合算子数；上游代码一个也不启动。Qwen3-Next 和 Qwen3.5 的两层中有一层是线性注意力，
其他混合专家模型的两层中有一层没有专家。两边的注意力都是 eager。

{operators}

主机在整个模型中等待设备的次数：上游代码 → wheel。只列出两者不同的模型：

{waits}

## 本页没有说明的

模拟 NPU 在 CPU 上用 PyTorch 计算。它按 torch_npu 的 wheel 中的声明接受算子，拒绝超出任一版本文档限制的输入，
并统计启动的算子。如何舍入、还会拒绝什么、各步耗时多少，只有真实的 NPU 才能说明。
"""
_SAME = {"parity.md": "bit for bit", "parity.zh-CN.md": "逐位相同"}
_MODEL = {"parity.md": "model", "parity.zh-CN.md": "模型"}
_NONE = ""


def pages(pins: Iterable[PinFigures], *, torch: str) -> Mapping[str, str]:
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


def _cases(pins: Iterable[PinFigures], same: str) -> str:
    counted = ((pin, len(pin.parity), sum(one.cases for one in pin.parity.values())) for pin in pins)
    return "\n".join(
        _row((pin.version, f"`{pin.overlay}`", pin.torch_npu, f"{models}", f"{cases}", same))
        for pin, models, cases in counted
    )


def _tables(pins: Sequence[PinFigures], page: str) -> dict[str, str]:
    waiting = [model for model in _models(pins) if any(map(_waits_differ, _having(pins, model), repeat(model)))]
    cells: dict[str, Callable[[PinFigures, str], str]] = {
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


def _models(pins: Iterable[PinFigures]) -> list[str]:
    """Return every model, in the order in which they came to be."""
    return list(dict.fromkeys(model for pin in pins for model in pin.parity))


def _waits_differ(pin: PinFigures, model: str) -> bool:
    return len(set(pin.operators[model].waits)) > 1


def _having(pins: Iterable[PinFigures], model: str) -> list[PinFigures]:
    return [pin for pin in pins if model in pin.parity]


def _table(pins: Sequence[PinFigures], models: Iterable[str], head: str, cell: Callable[[PinFigures, str], str]) -> str:
    """Return a row for each model of which something was measured, and a column for each pin."""
    cells = {model: [cell(pin, model) if model in pin.parity else _NONE for pin in pins] for model in models}
    rows = [_row((f"`{model}`", *found)) for model, found in cells.items() if any(found)]
    return "\n".join((_row((head, *(pin.version for pin in pins))), "|---" * (len(pins) + 1) + "|", *rows))


def _half(found: Half | None) -> str:
    return f"{found.error:.1e} ({found.ratio:.2f})" if found else _NONE


def _operators(pin: PinFigures, model: str) -> str:
    found = pin.operators[model]
    return f"{found.upstream:g} → {found.ours:g} ({found.fused:g})"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
