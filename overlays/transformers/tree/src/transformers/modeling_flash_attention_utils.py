"""Changes to the flash attention utilities."""

from npu_overlays.markers import edited


@edited(
    ("cumulative_seqlens_q: Optional", "cu_seq_lens_q: Optional"),
    ("cumulative_seqlens_k: Optional", "cu_seq_lens_k: Optional"),
    why="The documented keys are now those that attention reads.",
    forwarded="https://github.com/huggingface/transformers/commit/14b89fed24480c68a8363982c91d825bb8bac12d",
    until="4.56.1",
)
class FlashAttentionKwargs: ...
