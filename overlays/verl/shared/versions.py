"""Version checks: the label of transformers-npu does not decide a comparison."""

from npu_overlays.markers import edited


@edited(
    ('importlib.metadata.version("transformers")', 'importlib.metadata.version("transformers").partition("+npu.")[0]'),
    why="transformers-npu appends a label to upstream's version, so that 5.10.4+npu.1.a8c5b99b is greater than 5.10.4, "
    'and max_version="5.10.4" did not hold at the pin.',
    targets=["verl/models/transformers/monkey_patch.py:is_transformers_version_in_range"],
    until="0.6.0",
)
def is_version_in_range(): ...


@edited(
    ('importlib.metadata.version("transformers")', 'importlib.metadata.version("transformers").partition("+npu.")[0]'),
    why="transformers-npu appends a label to upstream's version, so that 5.10.4+npu.1.a8c5b99b is greater than 5.10.4, "
    'and max_version="5.10.4" did not hold at the pin.',
    targets=["verl/utils/transformers_compat.py:is_transformers_version_in_range"],
    since="0.6.0",
)
def is_transformers_version_in_range(): ...
