"""Compare families: the results of four runs of lab/families.py → a line of figures for each family, split by tabs.

usage: python compare_families.py UPSTREAM_CPU WHEEL_CPU UPSTREAM_NPU WHEEL_NPU

Runs in an environment with torch, which the tool's own has not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

from parity.figures import FUSED

_ZERO = 1e-4
_FULL, _HALF = ("fp32 left", "fp32 right"), ("bf16",)


def main(folders: list[Path]) -> None:
    """Print a line for each family of the first folder."""
    for file in sorted(folders[0].iterdir()):
        name = file.stem
        if file.suffix == ".txt":
            _tell(name, file.read_text("utf-8").strip().replace("\t", " "), "no", "no", 0, 0, "", 0, 0, "")
            continue
        missing = [folder / f"{name}.txt" for folder in folders if not (folder / f"{name}.pt").is_file()]
        if missing:
            why = missing[0].read_text("utf-8").strip() if missing[0].is_file() else "gave no result"
            # What upstream's code does not do there either, the emulation lacks.
            is_upstreams = missing[0].parent == folders[2]
            error, problem = (f"on the emulated NPU: {why}", "") if is_upstreams else ("", why)
            _tell(name, error, "no", "no", 0, 0, "", 0, 0, problem)
            continue
        upstream, wheel, before, after = (torch.load(folder / f"{name}.pt") for folder in folders)
        fused = dict.fromkeys(FUSED[short] for short in FUSED if f"npu.{short}" in after["operators"][_FULL[0]])
        equal = ["yes" if _all_equal(*pair) else "no" for pair in ((upstream, wheel), (before, after))]
        full = max(_error(upstream["results"][one], after["results"][one]) for one in _FULL)
        half = max(_error(upstream["results"][one], after["results"][one]) for one in _HALF)
        launches = [run["launches"][_FULL[0]] for run in (before, after)]
        _tell(name, "", *equal, full, half, ",".join(fused), *launches, "")


def _tell(*figures: object) -> None:
    sys.stdout.write("\t".join(map(str, figures)) + "\n")


def _all_equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(_equal(one["results"][name], other["results"][name]) for name in (*_FULL, *_HALF))


def _equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two tensors are equal; what is no number has to be none on both sides."""
    if one.shape != other.shape or not torch.equal(one.isnan(), other.isnan()):
        return False
    return torch.equal(one.nan_to_num(), other.nan_to_num())


def _error(expected: dict[str, Any], actual: dict[str, Any]) -> float:
    """Return the largest relative error of any tensor; infinite where a value is missing on one side, or no number.

    A gradient that is zero but for rounding, as that of a key's bias is, is held against all gradients.
    """
    norms = {name: float(tensor.double().nan_to_num().norm()) for name, tensor in expected.items()}
    least = _ZERO * max(norm for name, norm in norms.items() if name != "output")
    worst = 0.0
    for name, tensor in expected.items():
        other = actual.get(name)
        if other is None or other.shape != tensor.shape or not torch.equal(tensor.isnan(), other.isnan()):
            return float("inf")
        difference = float((tensor.double().nan_to_num() - other.double().nan_to_num()).norm())
        worst = max(worst, difference / max(norms[name], least))
    return worst


if __name__ == "__main__":
    main([Path(one) for one in sys.argv[1:]])
