"""Process groups: a backend for each device, and for a CPU-only machine one."""

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
    why="On the CPU alone upstream names it twice, and torch refuses that.",
    drop_when="upstream names the CPU once",
)
def names_its_devices(): ...
