"""The lists of models for frameworks name all models that transformers-npu handles itself, and no others."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

LAYER = Path(__file__).resolve().parents[3] / "overlays/transformers"


def _told(module: str, name: str) -> set[str]:
    tree = ast.parse((LAYER / f"tree/src/transformers/integrations/{module}.py").read_text("utf-8"))
    values = (one.value for one in tree.body if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == name)
    return set(ast.literal_eval(next(values)))


def _changed(module: str, method: str) -> set[str]:
    """Return the models whose method a file of `shared` changes."""
    tree = ast.parse((LAYER / f"shared/{module}.py").read_text("utf-8"))
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {text.partition(":")[2].removesuffix(f".{method}") for text in texts if text.endswith(f"Model.{method}")}


@pytest.mark.parametrize(
    ("module", "name", "method"),
    [
        ("ulysses", "SLICED_MODELS", "forward"),
        ("vision_towers", "SERVED_MODELS", "forward"),
        ("vision_towers", "SERVED_TOWERS", "fast_pos_embed_interpolate"),
    ],
)
def test_lists_for_frameworks_name_exactly_the_changed_models(module: str, name: str, method: str) -> None:
    assert _told(module, name) == _changed(module, method) != set()
