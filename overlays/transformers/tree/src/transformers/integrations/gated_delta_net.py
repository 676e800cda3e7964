"""Gated delta nets of transformers 5.15 and newer, which keep their functions in the module, not in the layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class GatedDeltaNet:
    """Gives a gated delta net its functions as attributes, as in older versions of transformers."""

    # Sequences are convolved one by one: without a kernel, upstream's function refuses several.
    causal_conv1d_fn = None

    def __init__(self, net: Any, chunk_gated_delta_rule: Callable[..., Any]) -> None:
        self._net = net
        self.chunk_gated_delta_rule = chunk_gated_delta_rule

    def __getattr__(self, name: str) -> Any:
        return getattr(self._net, name)
