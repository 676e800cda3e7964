"""Likeness: two definitions → how similar their code is, from 0 to 1, without their own names, layout and comments."""

from __future__ import annotations

import ast
from collections import Counter
from itertools import pairwise

from npu_overlays.model.definitions import FUNCTIONS, Definition
from npu_overlays.model.module import Module
from npu_overlays.model.tokens import significant

TokenPairs = Counter[tuple[str, str]]
# Below that, two definitions are two.
ENOUGH = 0.5
# Below that, two of one name have nothing in common.
SIMILAR = 0.2


def token_pairs(module: Module, definition: Definition) -> TokenPairs:
    """Return the pairs of neighbouring tokens in a definition's body, or in an assignment's value."""
    node = definition.node
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        statements = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        text = b"\n".join(map(module.whole_text, statements)).decode()
    else:
        text = module.text(getattr(node, "value", None) or node)
    words = ["", *(token.text for token in significant(text)), ""]
    return Counter(pairwise(words))


def likeness(one: TokenPairs, other: TokenPairs) -> float:
    """Return the share of token pairs that two definitions have in common."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0
