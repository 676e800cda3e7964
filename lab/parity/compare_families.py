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
            _tell(name, file.read_text("utf-8").strip().replace("\t", " "), "no", 0, 0, "", 0, 0, "")
            continue
        missing = [folder / f"{name}.txt" for folder in folders if not (folder / f"{name}.pt").is_file()]
        if missing:
            why = missing[0].read_text("utf-8").strip() if missing[0].is_file() else "gave no result"
            # What upstream's code does not do there either, the emulation lacks.
            is_upstreams = missing[0].parent == folders[2]
            error, problem = (f"on the emulated NPU: {why}", "") if is_upstreams else ("", why)
            _tell(name, error, "no", 0, 0, "", 0, 0, problem)
            continue
        upstream, wheel, before, after = (torch.load(folder / f"{name}.pt") for folder in folders)
        fused = dict.fromkeys(FUSED[short] for short in FUSED if f"npu.{short}" in after["operators"][_FULL[0]])
        is_equal = all(_equal(upstream["results"][one], wheel["results"][one]) for one in (*_FULL, *_HALF))
        full = max(_error(upstream["results"][one], after["results"][one]) for one in _FULL)
        half = max(_error(upstream["results"][one], after["results"][one]) for one in _HALF)
        launches = [run["launches"][_FULL[0]] for run in (before, after)]
        _tell(name, "", "yes" if is_equal else "no", full, half, ",".join(fused), *launches, "")


def _tell(*figures: object) -> None:
    sys.stdout.write("\t".join(map(str, figures)) + "\n")


def _equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    names = one.keys() | other.keys()
    return all(name in one and name in other and torch.equal(one[name], other[name]) for name in names)


def _error(expected: dict[str, Any], actual: dict[str, Any]) -> float:
    """Return the largest relative error of any tensor; one that has no value on one side has an infinite one.

    A gradient that is zero but for rounding, as that of a key's bias is, is held against all gradients.
    """
    norms = {name: float(tensor.double().norm()) for name, tensor in expected.items()}
    least = _ZERO * max(norm for name, norm in norms.items() if name != "output")
    worst = 0.0
    for name, tensor in expected.items():
        other = actual.get(name)
        if other is None or other.shape != tensor.shape:
            return float("inf")
        difference = float((tensor.double() - other.double()).norm())
        worst = max(worst, difference / max(norms[name], least))
    return worst


if __name__ == "__main__":
    main([Path(one) for one in sys.argv[1:]])
