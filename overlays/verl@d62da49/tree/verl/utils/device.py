"""Device choice: the allocator can be switched on the NPU too."""

from typing import TYPE_CHECKING

from verl.utils.npu.allocator import switch_expandable_segments

from npu_overlays.markers import upstream, wrapped

if TYPE_CHECKING:
    from verl.utils.device import is_npu_available


@wrapped(
    why="With EXPANDABLE_SEGMENTS=True, expandable segments are on for training and off while an inference engine is "
    "awake on the NPU too; upstream switches CUDA's allocator only.",
    drop_when="upstream switches the NPU's allocator",
)
def set_expandable_segments(enable: bool) -> None:  # noqa: FBT001  # upstream's signature
    if is_npu_available:
        switch_expandable_segments(enable=enable)
    else:
        upstream(enable)
