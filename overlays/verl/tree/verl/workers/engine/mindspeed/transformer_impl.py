"""The Megatron engine on NPU: MindSpeed keeps its patches when it receives the engine's arguments."""

from verl.utils.npu.mindspeed import renew_patches

from npu_overlays.markers import edited


class MindspeedEngineWithLMHead:
    """The engine of language models."""

    @edited(
        ("repatch(repatch_config)", "renew_patches(repatch, repatch_config)"),
        uses=[renew_patches],
        why="MindSpeed's repatch can undo up to nine of its own method patches without an error; here it keeps all of "
        "them.",
        drop_when="every supported MindSpeed has its commit 3131ff4f, as 26.0.0_core_r0.12.1 does",
        since="0.6.0",
        until="0.8.0",
    )
    def __init__(self): ...


@edited(
    ("repatch(repatch_config)", "renew_patches(repatch, repatch_config)"),
    uses=[renew_patches],
    why="MindSpeed's repatch can undo up to nine of its own method patches without an error; here it keeps all of "
    "them.",
    drop_when="every supported MindSpeed has its commit 3131ff4f, as 26.0.0_core_r0.12.1 does",
    since="0.8.0",
)
def _mindspeed_repatch(): ...
