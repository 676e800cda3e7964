"""Dynamic batching: micro-batches that keep to max_token_len."""

from typing import TYPE_CHECKING

import torch
from torch import distributed as dist
from verl.utils.device import get_device_name, is_npu_available
from verl.utils.npu.micro_batches import highest_count, micro_batches_needed

from npu_overlays.markers import added, upstream, wrapped

if TYPE_CHECKING:
    from verl.utils.seqlen_balancing import get_seqlen_balanced_partitions


@added(why="Says how many sequences every data-parallel rank has at least, so that all of them can agree on a count.")
def _smallest_batch(sequences, dp_group, same_micro_num_in_dp):
    if not (dist.is_initialized() and same_micro_num_in_dp):
        return sequences
    smallest = torch.tensor([sequences], device=get_device_name())
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN, group=dp_group)
    return int(smallest.item())


@wrapped(
    why="On NPU the count of micro-batches is raised until each one keeps to max_token_len, so that activation memory "
    "stays within what the user planned for; upstream's count can exceed it.",
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
        lengths = batch["attention_mask"].sum(dim=1).tolist()
        smallest = _smallest_batch(len(lengths), dp_group, same_micro_num_in_dp)
        needed = micro_batches_needed(
            lengths,
            max_token_len,
            partition=lambda count: get_seqlen_balanced_partitions(lengths, count, equal_size=False),
            at_most=highest_count(smallest, num_batches_divided_by),
        )
        min_num_micro_batch = max(needed, min_num_micro_batch or 1)
    return upstream(
        batch,
        max_token_len,
        dp_group,
        num_batches_divided_by,
        same_micro_num_in_dp,
        min_num_micro_batch,
        use_dynamic_bsz_balance,
    )
