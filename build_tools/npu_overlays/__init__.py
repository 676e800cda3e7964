"""npu-overlays: a pinned upstream and an overlay → a patched wheel that explains itself."""


def version() -> str:
    """Return the version that is installed; 0 for a checkout that is not."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  # a tenth of a start, and seldom asked

    try:
        return version("npu-overlays")
    except PackageNotFoundError:
        return "0"
