"""Python source as data: what the modules of a tree define, and what their names mean. Only this room resolves names.

`model_of` makes the model of a tree, which the stages share: `Model.modules` knows what can be imported,
`Model.resolver` what an expression stands for, and `Model.classes` the bases of classes, in MRO order.
"""

from npu_overlays.model.source_model import (
    Model,
    classes_of,
    model_of,
    model_of_files,
    model_of_module,
    patched_model,
)
from npu_overlays.model.symbols import Symbol, Target

__all__ = [
    "Model",
    "Symbol",
    "Target",
    "classes_of",
    "model_of",
    "model_of_files",
    "model_of_module",
    "patched_model",
]
