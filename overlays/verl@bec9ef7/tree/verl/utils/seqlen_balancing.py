"""Dynamic batching: micro-batches that do not exceed max_token_len, even if samples stay in groups."""

from typing import TYPE_CHECKING

from verl.utils.device import is_npu_available
from verl.utils.npu.micro_batches import lowest_count

from npu_overlays.markers import added, upstream, wrapped

if TYPE_CHECKING:
    from verl.utils.seqlen_balancing import _lengths_and_workloads, _smallest_batch, get_seqlen_balanced_partitions


@added(why="Returns the sums over groups of samples; upstream keeps each group in one micro-batch.")
def _group_sums(values, size):
    return [sum(values[first : first + size]) for first in range(0, len(values), size)]


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
    force_group_size=1,
):
    if is_npu_available:
        lengths, workloads = (_group_sums(values, force_group_size) for values in _lengths_and_workloads(batch))
        # Without a process group, upstream does not ask other ranks.
        agree = same_micro_num_in_dp and dp_group is not None
        min_num_micro_batch = lowest_count(
            lengths,
            max_token_len,
            partition=lambda count: get_seqlen_balanced_partitions(workloads, count, equal_size=False),
            smallest_batch=lambda groups: _smallest_batch(groups, dp_group, agree),
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
        force_group_size,
    )
