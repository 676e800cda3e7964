"""Process groups: one backend for each device, so a CPU-only machine has one."""

from verl.utils.device import get_device_name, get_nccl_backend

from npu_overlays.markers import added, edited


@added(why="Returns the backend of each device; if the CPU is the device, it is named once.")
def _backends():
    device = get_device_name()
    return "cpu:gloo" if device == "cpu" else f"cpu:gloo,{device}:{get_nccl_backend()}"


@edited(
    ('f"cpu:gloo,{get_device_name()}:{get_nccl_backend()}"', "_backends()"),
    why="On a CPU-only machine, upstream names the CPU twice, which torch refuses.",
    drop_when="upstream names the CPU once",
)
def initialize_global_process_group(timeout_second=36000): ...


@edited(
    ('f"cpu:gloo,{get_device_name()}:{get_nccl_backend()}"', "_backends()"),
    why="On a CPU-only machine, upstream names the CPU twice, which torch refuses.",
    drop_when="upstream names the CPU once",
)
def initialize_global_process_group_ray(timeout_second=None, backend=None): ...
