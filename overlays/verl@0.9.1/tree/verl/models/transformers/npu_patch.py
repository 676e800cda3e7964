"""Operators of the NPU: transformers-npu holds them, so nothing is assigned."""

from verl.utils.npu.attention import transformers_splits_sequences

from npu_overlays.markers import upstream, wrapped


@wrapped(
    why="transformers-npu runs fused operators by itself, each asking for the device and the activation; upstream "
    "assigns to 28 classes and functions, whatever they compute. Upstream's transformers is patched as before.",
)
def apply_npu_patches():
    if not transformers_splits_sequences():
        upstream()
