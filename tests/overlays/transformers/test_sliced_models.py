"""What frameworks are told of the text models that slice their input: it is all of them, and none besides."""

from __future__ import annotations

import ast
from pathlib import Path

LAYER = Path(__file__).resolve().parents[3] / "overlays/transformers"


def _told() -> set[str]:
    module = ast.parse((LAYER / "tree/src/transformers/integrations/ulysses.py").read_text("utf-8"))
    values = (node.value for node in module.body if isinstance(node, ast.Assign) and _name(node) == "SLICED_MODELS")
    return set(ast.literal_eval(next(values)))


def _name(node: ast.Assign) -> str:
    return ast.unparse(node.targets[0])


def _sliced() -> set[str]:
    module = ast.parse((LAYER / "shared/ulysses.py").read_text("utf-8"))
    texts = (node.value for node in ast.walk(module) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {text.partition(":")[2].removesuffix(".forward") for text in texts if text.endswith("TextModel.forward")}


def test_the_models_that_are_sliced_are_those_that_frameworks_leave_alone() -> None:
    assert _told() == _sliced() != set()
