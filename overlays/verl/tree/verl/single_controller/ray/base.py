"""Worker groups: the driver's NPU settings reach the workers on every node."""

from verl.utils.npu.start import worker_environment

from npu_overlays.markers import edited


@edited(
    ("random.choice(", "random.SystemRandom().choice("),
    why="Names of worker groups no longer come from the generator that trainer.deterministic_seed seeds. With it, two "
    "drivers of one run, as in fully asynchronous training, would draw the same names, and Ray would refuse the "
    "second.",
    accept=["random: names should differ from run to run, and training does not depend on them"],
)
def get_random_string(length: int) -> str: ...


class RayWorkerGroup:
    """The workers of one role."""

    @edited(
        ('"WG_BACKEND": "ray",', '"WG_BACKEND": "ray",\n**worker_environment(worker_env),'),
        uses=[worker_environment],
        why="EXPANDABLE_SEGMENTS and the switches of deterministic training reach the workers on every node, even if "
        "the cluster was started without them.",
    )
    def _init_with_resource_pool(self): ...
