"""Worker groups: the driver's NPU settings reach the workers on every node."""

from verl.utils.npu.start import worker_environment

from npu_overlays.markers import edited


class RayWorkerGroup:
    """The workers of one role."""

    @edited(
        ('"WG_BACKEND": "ray",', '"WG_BACKEND": "ray",\n**worker_environment(worker_env),'),
        uses=[worker_environment],
        why="The switches of deterministic training reach the workers on every node, even if the cluster was started "
        "without them.",
    )
    def _create_worker(): ...
