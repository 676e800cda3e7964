"""npu-overlays: a pinned upstream and an overlay → a patched wheel that explains itself."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("npu-overlays")
except PackageNotFoundError:  # run from a checkout
    __version__ = "0"
