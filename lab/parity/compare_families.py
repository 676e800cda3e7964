"""Compare families: the results of four runs of lab/families.py → the figures of each family, a line of JSON.

usage: python compare_families.py UPSTREAM_CPU WHEEL_CPU UPSTREAM_NPU WHEEL_NPU

Runs in an environment with torch, which the tool's own has not.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch

from parity.figures import FUSED, Family, Half

Results = dict[str, torch.Tensor]
_FULL = ("fp32 left", "fp32 right", "fp32 packed")
# A gradient that is smaller than this share of the largest one is held against that share: what is left of its numbers
# where larger ones cancel out, as of a key's bias, is their rounding. At an error of 1e-5 that is fp32's own, 1e-7.
_SMALL = 1e-2


def main(folders: list[Path]) -> None:
    """Print a line for each family of the first folder."""
    for file in sorted(folders[0].iterdir()):
        sys.stdout.write(json.dumps(dataclasses.asdict(_family(file, folders))) + "\n")


def _family(file: Path, folders: list[Path]) -> Family:
    name = file.stem
    if file.suffix == ".txt":
        return Family(name=name, error=file.read_text("utf-8").strip())
    missing = [folder / f"{name}.txt" for folder in folders if not (folder / f"{name}.pt").is_file()]
    if missing:
        why = missing[0].read_text("utf-8").strip() if missing[0].is_file() else "gave no result"
        # What upstream's code does not do there either, the emulation lacks.
        if missing[0].parent == folders[2]:
            return Family(name=name, error=f"on the emulated NPU: {why}")
        return Family(name=name, problem=why)
    upstream, wheel, before, after = (torch.load(folder / f"{name}.pt") for folder in folders)
    expected, actual = upstream["results"], after["results"]
    return Family(
        name=name,
        is_equal=_all_equal(expected, wheel["results"]),
        is_equal_on_npu=_all_equal(before["results"], actual),
        full=max(_error(expected[one], actual[one]) for one in _FULL if expected[one] is not None),
        output=_half(expected, actual["bf16"], {"output"}),
        gradients=_half(expected, actual["bf16"], expected["bf16 exact"].keys() - {"output"}),
        fused=tuple(dict.fromkeys(FUSED[one] for one in FUSED if f"npu.{one}" in after["operators"][_FULL[0]])),
        launches=(before["launches"][_FULL[0]], after["launches"][_FULL[0]]),
        is_packed=expected["fp32 packed"] is not None,
    )


def _all_equal(one: dict[str, Results | None], other: dict[str, Results | None]) -> bool:
    return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)


def _equal(one: Results | None, other: Results | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two tensors are equal; what is no number has to be none on both sides."""
    if one.shape != other.shape or not torch.equal(one.isnan(), other.isnan()):
        return False
    return torch.equal(one.nan_to_num(), other.nan_to_num())


def _error(expected: Results, actual: Results | None) -> float:
    """Return the largest relative error of any tensor; infinite where a value is missing on one side, or no number."""
    norms = {name: _norm(tensor) for name, tensor in expected.items()}
    least = _SMALL * max(norm for name, norm in norms.items() if name != "output")
    worst = 0.0
    for name, tensor in expected.items():
        other = None if actual is None else actual.get(name)
        if other is None or other.shape != tensor.shape or not torch.equal(tensor.isnan(), other.isnan()):
            return float("inf")
        worst = max(worst, _distance(tensor, other) / max(norms[name], least))
    return worst


def _half(upstream: dict[str, Any], actual: Results, names: Collection[str]) -> Half:
    """Return how far what bf16 gives is from exact numbers: of the wheel's on the NPU, and of upstream's on the CPU."""
    exact: Results = upstream["bf16 exact"]
    size = sum(_norm(exact[name]) ** 2 for name in names) ** 0.5
    found = [
        sum(_distance(exact[name], one.get(name, torch.zeros_like(exact[name]))) ** 2 for name in names) ** 0.5
        for one in (actual, upstream["bf16"])
    ]
    return Half(error=found[0] / size, upstream=found[1] / size)


def _norm(tensor: torch.Tensor) -> float:
    return float(tensor.double().nan_to_num().norm())


def _distance(one: torch.Tensor, other: torch.Tensor) -> float:
    return _norm(one.double().nan_to_num() - other.double().nan_to_num())


if __name__ == "__main__":
    main([Path(one) for one in sys.argv[1:]])
