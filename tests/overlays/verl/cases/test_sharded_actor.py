"""The actor on two ranks, sharded with FSDP2: upstream's bits on CPU, and close to one rank's on the emulated NPU."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import actor
import pytest
import ranks
import torch

SCRIPT = Path(__file__).with_name("sharded_actor.py")
# Each rank has its own rows, padded or not; or all of them, and of every sequence a part (Ulysses).
DIVISIONS = ("rows", "packed rows", "sequences")


def run(folder: Path, *divisions: str, **options: Any) -> list[dict[tuple[str, str], Any]]:
    """Return what each rank found, by division and family: results, and counts of operators."""
    ranks.run(SCRIPT, str(folder), *divisions, folder=folder, **options)
    return [torch.load(folder / f"{rank}.pt") for rank in range(ranks.RANKS)]


# One rank's bits (test_actor.py) and the losses of two (test_training.py) are upstream's as well.
@pytest.mark.thorough
@pytest.mark.on_cpu
def test_on_cpu_every_bit_of_every_rank_is_upstreams(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = run(tmp_path_factory.mktemp("patched"), "rows")
    expected = run(tmp_path_factory.mktemp("upstream"), "rows", packages=os.environ["UPSTREAM_PACKAGES"])

    for mine, upstreams in zip(found, expected, strict=True):
        assert mine.keys() == upstreams.keys() == {("rows", "qwen2"), ("rows", actor.EVERY_EXPERT)}
        for case, (results, _) in mine.items():
            assert results.keys() == upstreams[case][0].keys()
            assert [name for name, value in results.items() if not torch.equal(value, upstreams[case][0][name])] == []


@pytest.fixture(scope="module")
def on_npu(tmp_path_factory: pytest.TempPathFactory) -> list[dict[tuple[str, str], Any]]:
    """Return what each rank found on the emulated NPU."""
    return run(tmp_path_factory.mktemp("npu"), *DIVISIONS, npu=True)


@pytest.mark.on_npu
@pytest.mark.parametrize("family", actor.FAMILIES)
@pytest.mark.parametrize("division", DIVISIONS)
def test_on_the_npu_two_ranks_compute_what_upstream_does_on_one(
    division: str, family: str, on_npu: list[dict[tuple[str, str], Any]]
) -> None:
    expected = torch.load(os.environ["UPSTREAM_ACTOR"])[family]
    wanted = {f"npu.{name}" for name in actor.FUSED[family]} | {"hccl.allgather_base", "hccl.reduce_scatter_base"}
    wanted |= {"npu.npu_fusion_attention"} if division != "rows" else set()
    wanted |= {"hccl.alltoall_base"} if division == "sequences" else set()

    for found in on_npu:
        results, operators = found[division, family]
        assert results.keys() == expected.keys()
        errors = actor.errors(results, expected)
        assert {kind: error for kind, error in errors.items() if error > actor.TOLERANCE} == {}, errors
        assert wanted - operators.keys() == set()
