"""Version checks: they ignore the label of transformers-npu."""

from npu_overlays.markers import edited


@edited(
    ('importlib.metadata.version("transformers")', 'importlib.metadata.version("transformers").partition("+npu.")[0]'),
    why="transformers-npu appends a label to upstream's version. 5.10.4+npu.1.a8c5b99b is greater than 5.10.4, so "
    'max_version="5.10.4" would fail at the pin itself.',
    targets=["verl/models/transformers/monkey_patch.py:is_transformers_version_in_range"],
    until="0.6.0",
)
def is_version_in_range(): ...


@edited(
    ('importlib.metadata.version("transformers")', 'importlib.metadata.version("transformers").partition("+npu.")[0]'),
    why="transformers-npu appends a label to upstream's version. 5.10.4+npu.1.a8c5b99b is greater than 5.10.4, so "
    'max_version="5.10.4" would fail at the pin itself.',
    targets=["verl/utils/transformers_compat.py:is_transformers_version_in_range"],
    since="0.6.0",
)
def is_transformers_version_in_range(): ...
