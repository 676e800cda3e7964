"""Actor on two ranks: what `actor.py` computes on one, by a model sharded as verl's worker does it with FSDP2.

Started by `ranks.py` with a folder and how the ranks divide the work: ``rows``,
``packed rows`` (without padding) or ``sequences`` (Ulysses). Each rank saves
what it found for every family. The NPU is there when EMULATED_NPU is 1.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import conftest  # noqa: F401  # the emulated NPU comes first

# isort: split
import actor
import torch
import torch.distributed as dist
from ranks import RANKS
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy
from verl.models.transformers.monkey_patch import apply_monkey_patch
from verl.utils.device import get_device_name
from verl.utils.fsdp_utils import apply_fsdp2, fsdp2_load_full_state_dict
from verl.workers.sharding_manager.fsdp_ulysses import FSDPUlyssesShardingManager

import emulation

FAMILIES = actor.FAMILIES if get_device_name() == "npu" else ("qwen2", actor.EVERY_EXPERT)


def run(family: str, division: str) -> actor.Results:
    """Return what `actor.run` does; log-probabilities and entropy of all rows, and whole gradients."""
    packed = division != "rows"
    model = actor.model_of(family, "flash_attention_2" if packed else "eager").float()
    sequence_parallel = RANKS if division == "sequences" else 1
    if packed:
        apply_monkey_patch(model, ulysses_sp_size=sequence_parallel, use_remove_padding=True)
    _shard(model)
    data = actor.batch().to(get_device_name())
    if division == "sequences":
        mesh = init_device_mesh(get_device_name(), (1, RANKS), mesh_dim_names=("dp", "sp"))
        with FSDPUlyssesShardingManager(mesh):
            return actor.results(model, data, actor.ROWS // 2, packed=packed, sequence_parallel=RANKS)
    rows = _rows(dist.get_rank())
    found = actor.results(model, data[rows], actor.ROWS // 2 // RANKS, packed=packed)
    return {**found, **{name: _all_rows(found[name], rows) for name in ("log_probs", "entropy")}}


def _shard(model: Any) -> None:
    """Shard a model over all ranks, computing in bfloat16."""
    mesh = init_device_mesh(get_device_name(), (RANKS,), mesh_dim_names=("fsdp",))
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32, cast_forward_inputs=True)
    state = model.state_dict()
    apply_fsdp2(model, {"mesh": mesh, "mp_policy": policy, "offload_policy": None, "reshard_after_forward": True}, {})
    fsdp2_load_full_state_dict(model, state, mesh, None)


def _rows(rank: int) -> list[int]:
    """Return a rank's rows: of every mini-batch one micro-batch, so that the ranks' updates are those of one."""
    micro = actor.ROWS // 2 // RANKS
    return [row for row in range(actor.ROWS) if row // micro % RANKS == rank]


def _all_rows(mine: torch.Tensor, rows: list[int]) -> torch.Tensor:
    """Return the rows of all ranks."""
    whole = torch.zeros(actor.ROWS, *mine.shape[1:])
    whole[rows] = mine
    whole = whole.to(get_device_name())
    dist.all_reduce(whole)
    return whole.cpu()


def main(folder: str, *divisions: str) -> None:
    """Save, by division and family, what was found and which operators ran."""
    # As verl's worker does it.
    dist.init_process_group("cpu:gloo,npu:hccl" if get_device_name() == "npu" else "gloo")
    found = {}
    for division in divisions:
        for family in FAMILIES:
            with emulation.recorded() as recording:
                found[division, family] = (run(family, division), recording.operators)
    torch.save(found, Path(folder) / f"{dist.get_rank()}.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
