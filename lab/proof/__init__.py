"""Proof: a port as `npu-overlays follow` names it → whether its wheels do what those of pins do."""
