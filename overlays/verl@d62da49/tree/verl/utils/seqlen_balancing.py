"""Dynamic batching: micro-batches that keep to max_token_len."""

from typing import TYPE_CHECKING

from verl.utils.device import is_npu_available
from verl.utils.npu.micro_batches import highest_count, micro_batches_needed

from npu_overlays.markers import upstream, wrapped

if TYPE_CHECKING:
    from verl.utils.seqlen_balancing import _smallest_batch, calculate_workload, get_seqlen_balanced_partitions


@wrapped(
    why="On NPU the count of micro-batches is raised until each one keeps to max_token_len, so that activation memory "
    "stays within what the user planned for; upstream balances computation and can exceed it.",
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
        input_ids = batch["input_ids"]
        lengths = input_ids.offsets().diff() if input_ids.is_nested else batch["attention_mask"].sum(dim=1)
        workloads = calculate_workload(lengths)
        smallest = _smallest_batch(len(lengths), dp_group, same_micro_num_in_dp)
        needed = micro_batches_needed(
            lengths.tolist(),
            max_token_len,
            partition=lambda count: get_seqlen_balanced_partitions(workloads, count, equal_size=False),
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
