"""Worker groups: the driver's NPU settings reach the workers on every node; on CPU-only nodes they need no device."""

from verl.utils.npu.start import worker_environment

from npu_overlays.markers import edited


class RayResourcePool:
    """The resources for the workers of some roles."""

    @edited(
        ("if self.use_gpu:", 'if self.use_gpu and device_name != "cpu":'),
        why="On a CPU-only machine, workers do not request an accelerator. Upstream asks Ray for a resource named "
        "`cpu`, which no node has, and waits for ever.",
    )
    def get_placement_groups(self): ...


class RayWorkerGroup:
    """The workers of one role."""

    @edited(
        ('"WG_BACKEND": "ray",', '"WG_BACKEND": "ray",\n**worker_environment(worker_env),'),
        uses=[worker_environment],
        why="EXPANDABLE_SEGMENTS and the switches of deterministic training reach the workers on every node, even if "
        "the cluster was started without them.",
    )
    def _create_worker(self): ...
