"""DAPO: the samples of a prompt are generated on different ranks."""

from verl.utils.npu.sample_order import spread_generation

from npu_overlays.markers import upstream, wrapped


class RayDAPOTrainer:
    """The driver of a DAPO run."""

    @wrapped(
        why="On NPU, the samples of one prompt are generated on different ranks, so a prompt with long answers does "
        "not keep one rank busy while others wait. The batch keeps its order, so groups stay whole.",
    )
    def fit(self):
        spread_generation(self)
        return upstream(self)
