"""Gated delta nets whose functions stand in their module, as in transformers 5.15 and newer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class GatedDeltaNet:
    """A gated delta net of transformers', with its functions as attributes, as older ones have them."""

    # Each sequence is convolved by itself: upstream's function refuses several where it has no kernel.
    causal_conv1d_fn = None

    def __init__(self, net: Any, chunk_gated_delta_rule: Callable[..., Any]) -> None:
        self._net = net
        self.chunk_gated_delta_rule = chunk_gated_delta_rule

    def __getattr__(self, name: str) -> Any:
        return getattr(self._net, name)
