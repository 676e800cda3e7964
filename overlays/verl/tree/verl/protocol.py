"""DataProto: moving data to the CPU waits until it has arrived."""

from verl.utils.npu.transfer import synchronize_after_move

from npu_overlays.markers import edited, upstream, wrapped


class DataProto:
    """The data exchanged between workers and the driver."""

    @wrapped(
        why="tensordict before 0.10 waits for CUDA and MPS, but not for the NPU. The driver could read "
        "log-probabilities and advantages before they have arrived.",
        forwarded="https://github.com/pytorch/tensordict/issues/725",
        drop_when="tensordict 0.10 or newer is required",
    )
    def to(self, device):
        moved = upstream(self, device)
        synchronize_after_move(device)
        return moved


@edited(
    ("data.batch = data.batch.to(prev_device)", "data.to(prev_device)"),
    why="Moving a gathered batch back to the CPU waits until it has arrived.",
    forwarded="https://github.com/pytorch/tensordict/issues/725",
    until="0.6.0",
    drop_when="tensordict 0.10 or newer is required",
)
def all_gather_data_proto(): ...
