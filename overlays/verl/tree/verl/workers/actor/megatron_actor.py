"""Megatron actor: micro-batches move to the device one by one."""

from verl.utils.npu.transfer import broadcast_late, moved_early, moved_late

from npu_overlays.markers import edited


class MegatronPPOActor:
    """Log-probabilities and policy updates of one rank."""

    @edited(
        ("data.to(get_device_id())", "moved_early(data, get_device_id())"),
        ("device=input_ids.device", "device=get_device_id()", 2),
        uses=[moved_early],
        why="On NPU, a batch stays on the CPU while log-probabilities are computed, and only micro-batches move to "
        "the device. Pipeline stages exchange results on the device, as before.",
        forwarded="https://github.com/volcengine/verl/commit/43cb93c8d164c5f84bc9f1b77d4a33ae93e287b2",
        until="0.6.0",
    )
    def compute_log_prob(self, data): ...

    @edited(
        ("broadcast_dict_tensor(mini_batch.batch,", "broadcast_late(broadcast_dict_tensor, mini_batch,"),
        ("batch = next(batch_iter)", "batch = moved_late(next(batch_iter), get_device_id())"),
        uses=[broadcast_late, moved_late],
        why="On NPU, a batch is on the device only while pipeline stages exchange it. Afterwards each micro-batch "
        "moves when it is needed.",
        forwarded="https://github.com/volcengine/verl/commit/43cb93c8d164c5f84bc9f1b77d4a33ae93e287b2",
        until="0.6.0",
    )
    def forward_backward_batch(self, data): ...

    @edited(
        ("data.to(get_device_id())", "moved_early(data, get_device_id())"),
        uses=[moved_early],
        why="On NPU, each micro-batch of an update moves to the device when it is needed, not the whole mini-batch.",
        forwarded="https://github.com/volcengine/verl/commit/43cb93c8d164c5f84bc9f1b77d4a33ae93e287b2",
        until="0.6.0",
    )
    def update_policy(self, dataloader): ...
