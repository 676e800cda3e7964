"""Worker groups: workers get the driver's NPU settings on every node, and need no resource on a CPU-only one."""

from verl.utils.npu.start import worker_environment

from npu_overlays.markers import edited


class RayResourcePool:
    """Where the workers of some roles run."""

    @edited(
        ("if self.use_gpu:", 'if self.use_gpu and device_name != "cpu":'),
        why="On a CPU-only machine workers wait for no accelerator; upstream asks Ray for a resource called `cpu`, "
        "which no node has, and waits for it for ever.",
    )
    def get_placement_groups(self): ...


class RayWorkerGroup:
    """The workers of one role."""

    @edited(
        ('"WG_BACKEND": "ray",', '"WG_BACKEND": "ray",\n**worker_environment(worker_env),'),
        uses=[worker_environment],
        why="EXPANDABLE_SEGMENTS and the switches of deterministic training reach the workers on every node, also on a "
        "cluster that was started without them.",
    )
    def _create_worker(self): ...
