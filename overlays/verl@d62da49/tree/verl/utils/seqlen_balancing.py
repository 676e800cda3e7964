"""Dynamic batching: this version balances computation, not tokens, and knows nested batches."""

from typing import TYPE_CHECKING

from npu_overlays.markers import added

if TYPE_CHECKING:
    from verl.utils.seqlen_balancing import calculate_workload


@added(why="Says how long every sequence is, and by what upstream balances micro-batches: here, by computation.")
def _lengths_and_workloads(batch):
    input_ids = batch["input_ids"]
    lengths = input_ids.offsets().diff() if input_ids.is_nested else batch["attention_mask"].sum(dim=1)
    return lengths.tolist(), calculate_workload(lengths)
