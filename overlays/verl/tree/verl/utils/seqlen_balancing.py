"""Dynamic batching: micro-batches that do not exceed max_token_len."""

from typing import TYPE_CHECKING

import torch
from torch import distributed as dist
from verl.utils.device import get_device_name, is_npu_available
from verl.utils.npu.micro_batches import lowest_count

from npu_overlays.markers import added, upstream, wrapped

if TYPE_CHECKING:
    from verl.utils.seqlen_balancing import calculate_workload, get_seqlen_balanced_partitions


@added(why="Returns the lowest number of sequences of any data-parallel rank, so that all ranks can use one count.")
def _smallest_batch(sequences, dp_group, same_micro_num_in_dp):
    if not (dist.is_initialized() and same_micro_num_in_dp):
        return sequences
    smallest = torch.tensor([sequences], device=get_device_name())
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN, group=dp_group)
    return int(smallest.item())


@added(
    why="Returns the sequences' lengths and the values by which upstream balances micro-batches; here, the lengths.",
    until="0.6.1",
)
def _lengths_and_workloads(batch):
    lengths = batch["attention_mask"].sum(dim=1).tolist()
    return lengths, lengths


@wrapped(
    why="On NPU, the number of micro-batches is raised until none exceeds max_token_len, so that activation memory "
    "stays within the user's budget. Upstream's micro-batches can exceed it.",
)
def rearrange_micro_batches(
    batch,
    max_token_len,
    dp_group=None,
    num_batches_divided_by=None,
    same_micro_num_in_dp=True,
    min_num_micro_batch=None,
    use_dynamic_bsz_balance=True,
):
    if is_npu_available:
        lengths, workloads = _lengths_and_workloads(batch)
        min_num_micro_batch = lowest_count(
            lengths,
            max_token_len,
            partition=lambda count: get_seqlen_balanced_partitions(workloads, count, equal_size=False),
            smallest_batch=lambda sequences: _smallest_batch(sequences, dp_group, same_micro_num_in_dp),
            divisor=num_batches_divided_by,
            at_least=min_num_micro_batch,
        )
    return upstream(
        batch,
        max_token_len,
        dp_group,
        num_batches_divided_by,
        same_micro_num_in_dp,
        min_num_micro_batch,
        use_dynamic_bsz_balance,
    )


@added(
    why="Returns the sequences' lengths and the values by which upstream balances micro-batches; here, their "
    "computation.",
    since="0.6.1",
)
def _lengths_and_workloads(batch):
    input_ids = batch["input_ids"]
    lengths = input_ids.offsets().diff() if input_ids.is_nested else batch["attention_mask"].sum(dim=1)
    return lengths.tolist(), calculate_workload(lengths)
