"""Process groups: each device is named once."""

from verl.utils.device import get_device_name, get_nccl_backend

from npu_overlays.markers import added, edited


@added(why="Says which backend each device's tensors travel by; a CPU that is the device is not named again.")
def _backends():
    device = get_device_name()
    return "cpu:gloo" if device == "cpu" else f"cpu:gloo,{device}:{get_nccl_backend()}"


@edited(
    ('f"cpu:gloo,{get_device_name()}:{get_nccl_backend()}"', "_backends()"),
    why="On the CPU alone upstream names it twice, and torch refuses that.",
    drop_when="upstream names the CPU once",
)
def initialize_global_process_group(timeout_second=36000): ...


@edited(
    ('f"cpu:gloo,{get_device_name()}:{get_nccl_backend()}"', "_backends()"),
    why="On the CPU alone upstream names it twice, and torch refuses that.",
    drop_when="upstream names the CPU once",
)
def initialize_global_process_group_ray(timeout_second=None, backend=None): ...
