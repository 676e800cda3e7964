"""Worker groups: workers get the driver's NPU settings on every node."""

from verl.utils.npu.start import worker_environment

from npu_overlays.markers import edited


@edited(
    ("random.choice(", "random.SystemRandom().choice("),
    why="Names of worker groups are not drawn from the generator that trainer.deterministic_seed seeds: two drivers of "
    "one run, as in fully asynchronous training, drew the same names, and Ray refused the second.",
    accept=["random: names are to differ from run to run, and nothing of the training depends on them"],
)
def get_random_string(length: int) -> str: ...


class RayWorkerGroup:
    """The workers of one role."""

    @edited(
        ('"WG_BACKEND": "ray",', '"WG_BACKEND": "ray",\n**worker_environment(worker_env),'),
        uses=[worker_environment],
        why="EXPANDABLE_SEGMENTS and the switches of deterministic training reach the workers on every node, also on a "
        "cluster that was started without them.",
    )
    def _init_with_resource_pool(self): ...
