"""Family pages: a pin of transformers → docs/families.md in both languages, of every model that can be built tiny.

usage: python -m parity.family_pages [--overlay NAME] [--keep FOLDER]

exit codes: 0 written; 1 a family differs from upstream by more than is allowed, each is printed; 2 a pin is not had
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from environments import ROOT, Installations, Unavailable, torch_environment
from npu_overlays.errors import OverlayError
from npu_overlays.files import write_atomically
from npu_schemas import stack_versions
from parity.figures import FUSED

_SCRIPT = ROOT / "lab" / "families.py"
_COMPARED = ROOT / "lab" / "parity" / "compare_families.py"
_ALLOWED = 1e-5


@dataclass(frozen=True, kw_only=True)
class Family:
    """What was measured of one family.

    Args:
        name: as upstream calls it.
        error: why it could not be built or run with upstream's code; empty where it could.
        is_equal: whether outputs and gradients on the CPU are upstream's, bit for bit.
        is_equal_on_npu: whether those on the emulated NPU are what upstream's code gives there.
        full: the largest relative error in fp32 on the emulated NPU, beside the CPU.
        half: that in bf16, beside upstream's code on the CPU.
        fused: the NPU's own operators that ran forward.
        launches: of upstream's code and of the wheel's, forward and backward.
        problem: why it failed with the wheel's code; empty where it did not.
    """

    name: str
    error: str = ""
    is_equal: bool = False
    is_equal_on_npu: bool = False
    full: float = 0.0
    half: float = 0.0
    fused: tuple[str, ...] = ()
    launches: tuple[int, int] = (0, 0)
    problem: str = ""


def measure(overlay: str, folder: Path) -> list[Family]:
    """Run every family with upstream's code and with the wheel's, on the CPU and on the emulated NPU.

    Raises:
        Unavailable: the pin's source or torch cannot be had.
        subprocess.CalledProcessError: a run ended otherwise than by a family's own error.
    """
    installations, torch = Installations(folder / "installed"), torch_environment()
    patched, upstream = installations.install(torch, overlay).python, installations.upstream(torch, overlay).python
    version = stack_versions(overlay)[-1]
    runs = [(upstream, False), (patched, False), (upstream, True), (patched, True)]
    with ThreadPoolExecutor(2) as pool:
        made = [
            pool.submit(_run, python, folder / str(number), version, emulated=emulated)
            for number, (python, emulated) in enumerate(runs)
        ]
        for one in made:
            one.result()
    command = [str(upstream), str(_COMPARED), *(str(folder / str(number)) for number in range(len(runs)))]
    done = subprocess.run(command, env=_variables(version), capture_output=True, text=True, check=True)
    return [_read(line) for line in done.stdout.splitlines()]


def _run(python: Path, folder: Path, version: str, *, emulated: bool) -> None:
    command = [str(python), "-W", "ignore", str(_SCRIPT), str(folder), *(["--emulated"] if emulated else [])]
    subprocess.run(command, env=_variables(version), capture_output=True, check=True)


def _variables(version: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "lab"), "EMULATED_TORCH_NPU": version}


def _read(line: str) -> Family:
    name, error, on_cpu, on_npu, full, half, fused, before, after, problem = line.split("\t")
    return Family(
        name=name,
        error=error,
        is_equal=on_cpu == "yes",
        is_equal_on_npu=on_npu == "yes",
        full=float(full),
        half=float(half),
        fused=tuple(filter(None, fused.split(","))),
        launches=(int(before), int(after)),
        problem=problem,
    )


def mistakes(families: list[Family]) -> Iterator[str]:
    """Yield each family that is not as upstream has it.

    It has to be upstream's bit for bit on the CPU and, where nothing is fused, on the emulated NPU; else within 1e-5 of
    the CPU in fp32.
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
        elif one.fused and one.full > _ALLOWED:
            yield f"{one.name}: differs by {one.full:.1e} in fp32 on the emulated NPU"


_PAGE = {
    "families.md": """\
# What is fused in which model

English | [简体中文](families.zh-CN.md)

<!-- `make families` writes this page. -->

`make families` builds a tiny random model of every text and vision-language family of transformers, from upstream's own
configuration with small sizes, and runs it forward and backward: two sequences in fp32, padded on either side, and two
in bf16. It does so with upstream's code and with the wheel of `{overlay}`, on the CPU and on the emulated NPU of
torch_npu {version}. On the CPU every output and gradient is upstream's, bit for bit.

| | families |
|---|---|
| built | {built} |
| with a fused operator | {fused} |
{totals}
| not built, listed below | {left} |

{table}

The errors are the largest relative error of any output or gradient, beside upstream's code on the CPU in the same
precision: in bf16 rounding chooses other experts, on either device. Launches are those of the
whole model of two layers, forward and backward, with upstream's code and with the wheel's.

## Not built

{errors}
""",
    "families.zh-CN.md": """\
# 哪些模型融合了什么

[English](families.md) | 简体中文

<!-- 本页由 `make families` 写出。 -->

`make families` 为 transformers 的每个文本和视觉语言模型族建立一个极小的随机模型：配置取自上游，
只缩小尺寸；然后做前向和反向：fp32 下两条分别在左侧或右侧填充的序列，bf16 下两条序列。分别使用
上游代码和 `{overlay}` 的 wheel，在 CPU 和 torch_npu {version} 的模拟 NPU 上运行。
在 CPU 上，每个输出和梯度都与上游逐位相同。

| | 模型族 |
|---|---|
| 已建立 | {built} |
| 用到融合算子 | {fused} |
{totals}
| 未建立，见下 | {left} |

{table}

误差是任一输出或梯度相对于 CPU 上同精度上游代码的最大相对误差；bf16 下，舍入会使两种设备选择不同的专家。
启动次数是两层的整个模型前向和反向的次数：上游代码 → wheel 的代码。

## 未建立

{errors}
""",
}
_HEADINGS = {
    "families.md": ("family", "fused", "launches", "fp32 error", "bf16 error"),
    "families.zh-CN.md": ("模型族", "融合", "启动次数", "fp32 误差", "bf16 误差"),
}


def pages(families: list[Family], overlay: str) -> dict[str, str]:
    """Return the documents by name."""
    built = [one for one in families if not one.error]
    kinds = list(dict.fromkeys(FUSED.values()))
    totals = "\n".join(f"| {kind} | {sum(kind in one.fused for one in built)} |" for kind in kinds)
    errors = "\n".join(f"- `{one.name}`: {one.error}" for one in families if one.error)
    made = {}
    for name, text in _PAGE.items():
        rows = [" | ".join(_HEADINGS[name]), "|".join(["---"] * 5)]
        for one in built:
            before, after = one.launches
            shown = f"{before} → {after}" if before != after else str(after)
            rows.append(f"`{one.name}` | {', '.join(one.fused)} | {shown} | {one.full:.1e} | {one.half:.1e}")
        made[name] = text.format(
            overlay=overlay,
            version=stack_versions(overlay)[-1],
            built=len(built),
            fused=sum(bool(one.fused) for one in built),
            totals=totals,
            left=len(families) - len(built),
            table="\n".join(f"| {row} |" if "---" not in row else f"|{row}|" for row in rows),
            errors=errors or "-",
        )
    return made


def main() -> int:
    """Measure the families of a pin and write the pages; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--overlay", default="transformers@5.10.4", help="the pin (default: %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what was computed there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="npu-overlays-families-") as folder:
        try:
            families = measure(options.overlay, options.keep or Path(folder))
        except (Unavailable, OverlayError, subprocess.CalledProcessError) as error:
            sys.stderr.write(f"{options.overlay}: cannot be measured: {error}\n")
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
