"""DAPO: samples of a prompt are spread over the ranks for generation."""

from verl.utils.npu.spreading import spread_generation

from npu_overlays.markers import upstream, wrapped


class RayDAPOTrainer:
    """The driver of a DAPO run."""

    @wrapped(
        why="On NPU the samples of one prompt are generated on different ranks, so that one prompt with long answers "
        "does not keep a single rank busy; the batch comes back in its own order, so groups stay whole.",
    )
    def fit(self):
        spread_generation(self)
        return upstream(self)
