"""Process groups: one backend for each device, so a CPU-only machine has one."""

from npu_overlays.markers import edited


@edited(
    (
        'f"cpu:gloo,{get_device_name()}:{get_nccl_backend()}"',
        '("cpu:gloo" if get_device_name() == "cpu" else f"cpu:gloo,{get_device_name()}:{get_nccl_backend()}")',
    ),
    targets=[
        "verl/utils/distributed.py:initialize_global_process_group_ray",
        "verl/workers/fsdp_workers.py:ActorRolloutRefWorker.__init__",
    ],
    why="On a CPU-only machine, upstream names the CPU twice, which torch refuses.",
    drop_when="upstream names the CPU once",
)
def name_devices_once(): ...
