"""Device choice: a broken torch_npu is no NPU, CPU runs use gloo, and the allocator can be switched."""

from typing import TYPE_CHECKING

from verl.utils.npu.allocator import switch_expandable_segments

from npu_overlays.markers import added, edited, upstream, wrapped

if TYPE_CHECKING:
    from verl.utils.device import get_device_name, is_npu_available


@edited(
    ("except ImportError:", "except (ImportError, RuntimeError):"),
    why="A torch_npu without CANN can raise RuntimeError on import; verl then runs on the CPU or GPU.",
    accept=["exception: only what importing or asking torch_npu raises; without CANN there is no NPU to miss"],
    until="0.6.0",
)
def is_torch_npu_available() -> bool: ...


@wrapped(
    why="On a CPU-only machine training runs on gloo; upstream stops there.",
    drop_when="upstream returns a backend for every device get_device_name can return",
)
def get_nccl_backend() -> str:
    return "gloo" if get_device_name() == "cpu" else upstream()


@added(
    why="EXPANDABLE_SEGMENTS=True fights fragmentation: workers turn expandable segments on for training and off "
    "before an inference engine is built or woken, because its memory pool refuses them.",
    forwarded="https://github.com/volcengine/verl/pull/3285",
    until="0.6.0",
)
def set_expandable_segments(enable: bool) -> None:  # noqa: FBT001  # the signature later verl versions have
    """Switch expandable segments of the NPU allocator in this process; nothing happens on other devices."""
    if is_npu_available:
        switch_expandable_segments(enable=enable)


@wrapped(
    why="With EXPANDABLE_SEGMENTS=True, expandable segments are on for training and off while an inference engine is "
    "awake on the NPU too; upstream switches CUDA's allocator only.",
    drop_when="upstream switches the NPU's allocator",
    since="0.6.0",
)
def set_expandable_segments(enable: bool) -> None:  # noqa: FBT001  # upstream's signature
    if is_npu_available:
        switch_expandable_segments(enable=enable)
    else:
        upstream(enable)
