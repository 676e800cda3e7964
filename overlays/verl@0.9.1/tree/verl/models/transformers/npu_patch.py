"""NPU operators: transformers-npu contains them, so verl patches nothing."""

from verl.utils.npu.attention import transformers_splits_sequences

from npu_overlays.markers import upstream, wrapped


@wrapped(
    why="transformers-npu contains the fused operators, each with a check of device and activation. Upstream patches "
    "28 classes and functions without such checks. With upstream's transformers, verl patches as before.",
)
def apply_npu_patches():
    if not transformers_splits_sequences():
        upstream()
