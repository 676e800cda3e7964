"""Megatron workers: batches stay on the CPU until they are needed, and MindSpeed keeps its patches."""

from verl.utils.npu.mindspeed import renew_patches
from verl.utils.npu.transfer import moved_early

from npu_overlays.markers import edited


class ActorRolloutRefWorker:
    """Actor, reference and rollout of one rank."""

    @edited(
        ("repatch(self.config", "renew_patches(repatch, self.config"),
        uses=[renew_patches],
        why="MindSpeed's repatch can undo up to nine of its own method patches without an error; here it keeps all of "
        "them.",
        drop_when="every supported MindSpeed has its commit 3131ff4f, as 26.0.0_core_r0.12.1 does",
        until="0.8.0",
    )
    def __init__(self): ...

    @edited(
        ("data.batch = data.batch.to(get_device_name())", "data.batch = moved_early(data.batch, get_device_name())"),
        uses=[moved_early],
        why="On NPU, only one mini-batch at a time moves to the device, not the whole batch.",
        forwarded="https://github.com/volcengine/verl/commit/bd3b7355140cc255efb89a3ac105829b427235a7",
        until="0.6.0",
    )
    def update_actor(self, data): ...

    @edited(
        ("data = data.to(get_device_id())", "data = moved_early(data, get_device_id())"),
        uses=[moved_early],
        why="On NPU, only one micro-batch at a time moves to the device, not the whole batch.",
        forwarded="https://github.com/volcengine/verl/commit/43cb93c8d164c5f84bc9f1b77d4a33ae93e287b2",
        until="0.6.0",
    )
    def compute_ref_log_prob(self, data): ...

    @edited(
        ("data = data.to(get_device_id())", "data = moved_early(data, get_device_id())"),
        uses=[moved_early],
        why="On NPU, only one micro-batch at a time moves to the device, not the whole batch.",
        forwarded="https://github.com/volcengine/verl/commit/43cb93c8d164c5f84bc9f1b77d4a33ae93e287b2",
        until="0.6.0",
    )
    def compute_log_prob(self, data): ...
