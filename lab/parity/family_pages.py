"""Family pages: a pin of transformers → docs/families.md in both languages, of every model that can be built tiny.

usage: python -m parity.family_pages [--overlay NAME] [--keep FOLDER]

exit codes: 0 written; 1 a family differs from upstream by more than is allowed, each is printed;
2 the pin cannot be measured
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from environments import ROOT, Installations, Unavailable, torch_environment
from npu_overlays.errors import OverlayError
from npu_overlays.files import write_atomically
from npu_schemas import stack_versions
from parity.figures import FUSED, Family, Half

_SCRIPT = ROOT / "lab" / "families.py"
_COMPARED = ROOT / "lab" / "parity" / "compare_families.py"
# In bf16 the error of one model for one input is a matter of luck; that of the middle one of all is not.
FULL_ALLOWED, HALF_ALLOWED, MEDIAN_ALLOWED = 1e-5, 2.0, 1.1


def measure(overlay: str, installations: Installations, folder: Path, names: Sequence[str] = ()) -> list[Family]:
    """Run families with upstream's code and with the wheel's, on the CPU and on the emulated NPU.

    Args:
        overlay: the pin.
        installations: where it is built and installed.
        folder: gets what is computed.
        names: of the families; all where there is none.

    Raises:
        Unavailable: the pin's source or torch cannot be had.
        subprocess.CalledProcessError: a run ended otherwise than by a family's own error.
    """
    torch = torch_environment()
    patched, upstream = installations.install(torch, overlay).python, installations.upstream(torch, overlay).python
    version = stack_versions(overlay)[-1]
    runs = [(upstream, False), (patched, False), (upstream, True), (patched, True)]
    with ThreadPoolExecutor(2) as pool:
        made = [
            pool.submit(_run, python, folder / str(number), version, names, emulated=emulated)
            for number, (python, emulated) in enumerate(runs)
        ]
        for one in made:
            one.result()
    command = [str(upstream), str(_COMPARED), *(str(folder / str(number)) for number in range(len(runs)))]
    done = subprocess.run(command, env=_variables(version), capture_output=True, text=True, check=True)
    return [_read(line) for line in done.stdout.splitlines()]


def _run(python: Path, folder: Path, version: str, names: Sequence[str], *, emulated: bool) -> None:
    command = [str(python), "-W", "ignore", str(_SCRIPT), str(folder), *names, *(["--emulated"] if emulated else [])]
    subprocess.run(command, env=_variables(version), capture_output=True, text=True, check=True)


def _variables(version: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "lab"), "EMULATED_TORCH_NPU": version}


def _read(line: str) -> Family:
    values = json.loads(line)
    halves = {name: Half(**values[name]) for name in ("output", "gradients")}
    return Family(**{**values, **halves, "fused": tuple(values["fused"]), "launches": tuple(values["launches"])})


def mistakes(families: list[Family]) -> Iterator[str]:
    """Yield each family that is not as upstream has it.

    It has to be upstream's bit for bit on the CPU and, where nothing is fused, on the emulated NPU; else within 1e-5 of
    the CPU in fp32, and in bf16 at most twice as far from exact numbers as upstream's code on the CPU, and half of the
    families at most 1.1 times.
    """
    for one in families:
        if one.error:
            continue
        if one.problem:
            yield f"{one.name}: {one.problem}"
        elif not one.is_equal:
            yield f"{one.name}: differs from upstream on the CPU"
        elif not one.fused and not one.is_equal_on_npu:
            yield f"{one.name}: differs from upstream on the emulated NPU, and nothing is fused"
        elif one.fused and one.full > FULL_ALLOWED:
            yield f"{one.name}: differs by {one.full:.1e} in fp32 on the emulated NPU"
        elif one.fused and one.half.ratio > HALF_ALLOWED:
            yield f"{one.name}: in bf16 {one.half.ratio:.2f} times as far from exact numbers as upstream's code"
    if (middle := _median(families)) > MEDIAN_ALLOWED:
        yield f"in bf16 half of the families are {middle:.2f} times as far from exact numbers as upstream's code"


def _median(families: list[Family]) -> float:
    """Return how many times upstream's error the error in bf16 is, for that family which as many exceed as do not."""
    return median([one.half.ratio for one in families if one.fused and not one.problem] or [0.0])


_PAGE = {
    "families.md": """\
# What is fused in which model

English | [简体中文](families.zh-CN.md)

<!-- `make families` writes this page. -->

You want to know which fused operators of the NPU your model uses. The first tables list them for the families of
transformers, with the wheel of `{overlay}`. Then come the families without one, and those that could not be built.

`make families` builds a tiny random model of every text and vision-language family of transformers, from upstream's
own configuration with small sizes. It runs the model forward and backward, with upstream's code and with the wheel of
`{overlay}`, on the CPU and on the emulated NPU of torch_npu {version}. The inputs are

- in fp32: two sequences, the first padded on the left or on the right;
- in fp32, in the {packed} families that take packed sequences: two sequences packed into one;
- in bf16: two sequences.

No two norms of a model have the same epsilon, so code that takes the wrong one is found. On the CPU every output and
gradient equals upstream's, bit for bit.

| | families |
|---|---|
| built | {built} |
| with a fused operator | {fused} |
{totals}
| without a fused operator | {unfused} |
| not built | {left} |

## Fused

- **launches**: operators of the whole model of two layers, forward and backward: upstream's code → the wheel's.
- **fp32**: the largest relative error of any output or gradient on the emulated NPU, compared with upstream's code on
  the CPU. At most {full:.0e} is allowed. If a gradient is smaller than a hundredth of the largest, its error is
  divided by that hundredth: where larger numbers cancel out, only rounding is left.
- **bf16**: the error of the output, or of all gradients together, compared with the same model computed in fp32, its
  parameters rounded to bf16. In brackets is this error divided by the error of upstream's own code on the CPU; the
  larger quotient counts. For one input the quotient depends on luck: over 24 inputs, that of `t5gemma2`'s gradients is
  0.64 to 1.54, and 0.99 in the geometric mean. So at most {half:.0f} is allowed for a family, and {median_allowed} for
  the median. The median is {median:.2f}. All experts are chosen, because near a tie rounding would choose different
  experts on each device.

| family | operators | launches | fp32 | bf16 |
|---|---|---|---|---|
{table}

## Rotary embeddings that are not fused

| because | families |
|---|---|
| they multiply complex numbers, and the operator takes cosines and sines | `deepseek_v2`, `llama4`, `llama4_text` |
| it rotates the other way: the operator negates the second half, not the first | `nanochat` |
| each has a form of its own | `codegen`, `deepseek_v4`, `ernie4_5_vl_moe`, `gptj`, `roformer` |
| it has none by default; if its configuration asks for one, that one is fused | `granitemoehybrid` |
| their layers have no rotary embedding, but other fused operators | `jamba`, `mamba`, `nemotron_h` |

The embeddings of pairs of neighbours (GLM, Cohere, Helium, ERNIE 4.5) need a torch_npu whose operator has
`rotary_mode`, so not 2.5.1rc1. Where each sequence has a table of its own, the sequences are joined into one, since in
this mode the operator takes one table for all. This mode needs `jit_compile=False`, the default on Atlas A2 and A3.

## Without a fused operator

On the emulated NPU, too, every output and gradient of these families equals upstream's, bit for bit:
{plain}.

## Not built

The tiny model of each of these families ended with an error, with upstream's own code:

{errors}
{crash}""",
    "families.zh-CN.md": """\
# 哪些模型融合了什么

[English](families.md) | 简体中文

<!-- 本页由 `make families` 写出。 -->

您的模型用到 NPU 的哪些融合算子？本页开头的几张表按 transformers 的模型族列出
`{overlay}` 的 wheel 所融合的算子，页末列出没有融合算子的模型族和无法构造的模型族。

`make families` 为 transformers 的每个文本和视觉语言模型族建立一个参数随机的微型模型，配置取自上游，只缩小尺寸。
它分别用上游代码和 `{overlay}` 的 wheel，在 CPU 和 torch_npu {version} 的模拟 NPU 上运行前向与反向。输入为：

- fp32：两条序列，第一条在左侧或右侧填充；
- fp32，在接受打包序列的 {packed} 个模型族中：打包成一条的两条序列；
- bf16：两条序列。

同一模型中各归一化层的 epsilon 互不相同，因此代码如果取错，就会被发现。在 CPU 上，每个输出和梯度都与上游逐位相同。

| | 模型族 |
|---|---|
| 已建立 | {built} |
| 有融合算子 | {fused} |
{totals}
| 没有融合算子 | {unfused} |
| 未建立 | {left} |

## 融合

- **启动次数**：两层的整个模型前向与反向的算子数：上游代码 → wheel。
- **fp32**：模拟 NPU 上任一输出或梯度与 CPU 上的上游代码相比的最大相对误差，不得超过 {full:.0e}。
  若某个梯度小于最大梯度的百分之一，则以最大梯度的百分之一作分母：较大的数相互抵消后，剩下的只是舍入。
- **bf16**：输出或全部梯度的误差，与参数舍入到 bf16、以 fp32 计算的同一模型相比；
  括号内是它与上游代码在 CPU 上的误差之比，取比值较大者。
  单次输入的比值有偶然性：对 24 个输入，`t5gemma2` 的梯度的比值是 0.64 至 1.54，几何平均为 0.99。
  因此每个模型族不得超过 {half:.0f}，中位数不得超过 {median_allowed}。实际的中位数为 {median:.2f}。
  这里选中所有专家，因为接近平局时，舍入会使两种设备选择不同的专家。

| 模型族 | 算子 | 启动次数 | fp32 | bf16 |
|---|---|---|---|---|
{table}

## 没有融合的旋转位置编码

| 原因 | 模型族 |
|---|---|
| 它们做复数乘法，而算子接受的是余弦和正弦 | `deepseek_v2`、`llama4`、`llama4_text` |
| 旋转方向相反：算子取负的是后一半，而不是前一半 | `nanochat` |
| 各有自己的写法 | `codegen`、`deepseek_v4`、`ernie4_5_vl_moe`、`gptj`、`roformer` |
| 默认没有；配置要求时才有，并且会融合 | `granitemoehybrid` |
| 它们的层没有旋转位置编码，但有其他融合算子 | `jamba`、`mamba`、`nemotron_h` |

相邻数成对旋转的编码（GLM、Cohere、Helium、ERNIE 4.5）要求 torch_npu 的算子有 `rotary_mode`，因此 2.5.1rc1 不行。
在这种模式下，算子对所有序列只接受一张表；各序列的表不同时，先把它们拼接成一条。这种模式只支持 `jit_compile=False`，
即 Atlas A2 和 A3 上的默认设置。

## 没有融合算子

在模拟 NPU 上，这些模型族的每个输出和梯度也与上游逐位相同：
{plain}。

## 未建立

这些模型族的微型模型用上游自己的代码运行，各以一个错误结束：

{errors}
{crash}""",
}

_COMMA = {"families.md": ", ", "families.zh-CN.md": "、"}
# A segmentation fault, by which `lab/families.py` reports the end of a process.
_CRASH = "exit code -11"
_WHY_CRASH = {
    "families.md": f"""\
`{_CRASH}` is a crash of the emulation, which runs on PyTorch's CPU code: there PyTorch ends with a segmentation fault
when it multiplies by the conjugate of a complex tensor, as the backward pass of these rotary embeddings does. It says
nothing about an NPU.""",
    "families.zh-CN.md": f"""\
`{_CRASH}` 是模拟环境自身的崩溃：反向计算这些旋转位置编码时要乘以复数张量的共轭，而模拟设备上的 PyTorch
此时以段错误结束。它不说明 NPU 上的情况。""",
}


def pages(families: list[Family], overlay: str) -> dict[str, str]:
    """Return the documents by name."""
    built = [one for one in families if not one.error]
    fused, plain = [one for one in built if one.fused], [one for one in built if not one.fused]
    kinds = dict.fromkeys(FUSED.values())
    values = {
        "overlay": overlay,
        "version": stack_versions(overlay)[-1],
        "packed": sum(one.is_packed for one in built),
        "built": len(built),
        "fused": len(fused),
        "totals": "\n".join(f"| {kind} | {sum(kind in one.fused for one in built)} |" for kind in kinds),
        "unfused": len(plain),
        "left": len(families) - len(built),
        "full": FULL_ALLOWED,
        "half": HALF_ALLOWED,
        "median": _median(families),
        "median_allowed": MEDIAN_ALLOWED,
        "errors": "\n".join(f"- `{one.name}`: `{_code(one.error)}`" for one in families if one.error),
    }
    crash = any(_CRASH in one.error for one in families)
    made = {}
    for name, text in _PAGE.items():
        more = {"crash": f"\n{_WHY_CRASH[name]}\n" if crash else ""}
        made[name] = text.format(**values, **_lists(families, _COMMA[name]), **more)
    return made


def _lists(families: list[Family], comma: str) -> dict[str, str]:
    """Return what the page lists in sentences and cells, with a language's comma."""
    built = [one for one in families if not one.error]
    return {
        "table": "\n".join(_row(one, comma) for one in built if one.fused),
        "plain": comma.join(f"`{one.name}`" for one in built if not one.fused),
    }


def _code(text: str) -> str:
    """Return a text as it can stand between backquotes."""
    return text.strip().replace("`", "'")


def _row(one: Family, comma: str) -> str:
    before, after = one.launches
    half = f"{one.half.error:.1e} ({one.half.ratio:.2f})"
    return f"| `{one.name}` | {comma.join(one.fused)} | {before} → {after} | {one.full:.1e} | {half} |"


def main() -> int:
    """Measure the families of a pin and write the pages; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--overlay", default="transformers@5.10.4", help="the pin (default: %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what was computed there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="npu-overlays-families-") as folder:
        try:
            kept = options.keep or Path(folder)
            families = measure(options.overlay, Installations(kept / "installed"), kept)
        except (Unavailable, OverlayError, subprocess.CalledProcessError) as error:
            sys.stderr.write(f"{options.overlay}: cannot be measured: {error}\n{getattr(error, 'stderr', None) or ''}")
            return 2
    problems = list(mistakes(families))
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    if problems:
        return 1
    for name, text in pages(families, options.overlay).items():
        write_atomically(ROOT / "docs" / name, text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
