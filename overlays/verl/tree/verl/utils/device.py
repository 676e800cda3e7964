"""Device choice: a torch_npu that fails counts as no NPU, the CPU uses gloo, and the allocator can be switched."""

from typing import TYPE_CHECKING

from verl.utils.npu.allocator import switch_expandable_segments

from npu_overlays.markers import added, edited, upstream, wrapped

if TYPE_CHECKING:
    from verl.utils.device import get_device_name, is_npu_available


@edited(
    ("except ImportError:", "except (ImportError, RuntimeError):"),
    why="Without CANN, importing torch_npu can raise RuntimeError; verl then runs on the CPU or GPU.",
    accept=["exception: only importing and querying torch_npu can raise here; without CANN there is no usable NPU"],
    until="0.6.0",
)
def is_torch_npu_available() -> bool: ...


@wrapped(
    why="On a CPU-only machine, training uses gloo; upstream fails there.",
    drop_when="upstream returns a backend for every device get_device_name can return",
)
def get_nccl_backend() -> str:
    return "gloo" if get_device_name() == "cpu" else upstream()


@added(
    why="EXPANDABLE_SEGMENTS=True reduces fragmentation: workers switch expandable segments on for training, and off "
    "before an inference engine is built or woken, because its memory pool refuses them.",
    forwarded="https://github.com/volcengine/verl/pull/3285",
    until="0.6.0",
)
def set_expandable_segments(enable: bool) -> None:  # noqa: FBT001  # the signature of newer verl versions
    """Switch expandable segments of the NPU allocator in this process; other devices are unchanged."""
    if is_npu_available:
        switch_expandable_segments(enable=enable)


@wrapped(
    why="With EXPANDABLE_SEGMENTS=True, expandable segments are on for training, and off while an inference engine is "
    "awake, on the NPU too; upstream switches only CUDA's allocator.",
    drop_when="upstream switches the NPU's allocator",
    since="0.6.0",
)
def set_expandable_segments(enable: bool) -> None:  # noqa: FBT001  # upstream's signature
    if is_npu_available:
        switch_expandable_segments(enable=enable)
    else:
        upstream(enable)
